import { rm } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { Companion } from '../companion/companion.ts';
import { askCompanion, type Contact, holdInstance, readContact } from '../companion/instance.ts';
import { launch, launchOf } from '../companion/launcher.ts';
import { install, type LoginEntry, loginEntry, uninstall } from '../companion/login.ts';
import { type CompanionPaths, companionPaths, type Place } from '../companion/paths.ts';
import type { CompanionState } from '../companion/state.ts';
import { entryFile } from '../companion/workerProcess.ts';
import { messageOf } from '../domain/errors.ts';
import { isFields } from '../lib/fields.ts';
import { plainLine, safeJson } from '../lib/plainText.ts';
import { useProxies } from '../lib/proxies.ts';
import { onStopSignal } from '../lib/stopSignal.ts';
import type { CompanionFlags } from './companion.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import type { Io } from './io.ts';
import { signInLink } from './signInLink.ts';

/** Longer than the grace of running jobs. */
const stopMs = 60_000;

/** `svc companion`: run until a signal or `svc companion stop`; with one running already, open its window. */
export async function runCompanion(flags: CompanionFlags, io: Io): Promise<void> {
  if (flags.purge === true && flags.uninstall !== true) {
    throw new CommandFailure(exitCodes.usage, '--purge needs --uninstall');
  }
  const place = placeOf(io);
  const paths = companionPaths(place);
  const login = loginEntry(place, paths.home, [process.execPath, entryFile, 'companion', '--no-open']);
  if (flags.install === true || flags.uninstall === true) return changeLogin(flags, login, paths, io);
  const instance = await holdInstance(paths.state).catch((error: unknown) => {
    throw new CommandFailure(exitCodes.failed, `${paths.state} cannot be used: ${messageOf(error)}`);
  });
  if (instance === null) {
    io.err.line('The companion is running already.');
    return openCompanion(flags, io);
  }
  useProxies(io.env);
  const stopped = Promise.withResolvers<void>();
  const { env } = io;
  const onStop = stopped.resolve;
  const companion = new Companion({ paths, env, instance, port: flags.port ?? 0, login, onStop, signInLink });
  const link = await companion.start().catch(async (error: unknown) => {
    await companion.stop();
    throw new CommandFailure(exitCodes.failed, `the companion cannot start: ${messageOf(error)}`);
  });
  onStopSignal(onStop, { hangup: true });
  await show(link, flags.open, io);
  await stopped.promise;
  const { running } = companion;
  if (running > 0)
    io.err.line(`Stopping: waiting up to 30 s for ${running === 1 ? '1 job' : `${running} jobs`}.`);
  await companion.stop();
}

/** `svc companion status`. */
export async function showCompanion({ json }: CompanionFlags, io: Io): Promise<void> {
  const state = await stateOf(await contactOf(io));
  if (json === true) return io.out.line(safeJson(state));
  const { settings, worker, today } = state;
  const lines = [
    `Coordinator  ${settings.coordinator}${state.coordinator.isReachable === false ? ' (not reachable)' : ''}`,
    `Worker       ${settings.name}: ${worker.mode}, ${worker.phase}, ${worker.running} of ${worker.slots} slots in use`,
    `Providers    ${settings.providers.join(', ') || 'none'}`,
    `Today        ${today.completed} completed, ${today.failed} failed, ${today.inputTokens + today.outputTokens} tokens`,
    `Settings     ${settings.file}`,
  ];
  const problems = [settings.problem, worker.problem?.message ?? null, worker.problem?.advice ?? null];
  for (const line of lines) io.out.line(plainLine(line));
  for (const problem of problems) if (problem !== null) io.out.line(plainLine(`Problem      ${problem}`));
}

/** `svc companion open`. */
export async function openCompanion({ open }: Pick<CompanionFlags, 'open'>, io: Io): Promise<void> {
  const answer = await askCompanion(await contactOf(io), 'link');
  if (!isFields(answer) || typeof answer.link !== 'string') throw notRunning();
  await show(answer.link, open, io);
}

/** `svc companion stop`: resolves when it has ended. */
export async function stopCompanion(io: Io): Promise<void> {
  const contact = await contactOf(io);
  if ((await askCompanion(contact, 'stop')) === null) throw notRunning();
  const { state } = companionPaths(placeOf(io));
  const end = performance.now() + stopMs;
  while ((await readContact(state))?.token === contact.token) {
    if (performance.now() > end) throw new CommandFailure(exitCodes.failed, 'it has not ended within 60 s');
    await setTimeout(100);
  }
  io.out.line('The companion has stopped.');
}

async function show(link: string, isWanted: boolean, io: Io): Promise<void> {
  const place = placeOf(io);
  if (isWanted && (await launch(launchOf(link, place)))) return;
  if (isWanted) io.err.line('No browser was found. Open this link, which works once, within a minute:');
  io.out.line(link);
}

async function changeLogin(
  flags: CompanionFlags,
  login: LoginEntry | null,
  paths: CompanionPaths,
  io: Io,
): Promise<void> {
  if (login === null) {
    throw new CommandFailure(exitCodes.failed, `start at login is not known for ${process.platform}`);
  }
  if (flags.install === true && flags.uninstall === true) {
    throw new CommandFailure(exitCodes.usage, 'give either --install or --uninstall');
  }
  if (flags.install === true) {
    await install(login);
    io.out.line(`Wrote ${login.path}:`);
    io.out.line(login.text.trimEnd());
    if (login.link !== null) io.out.line(`Linked ${login.link}`);
    io.out.line(login.remark);
    return;
  }
  // First of all, so that a refusal changes nothing.
  if (flags.purge === true && (await readContact(paths.state)) !== null) {
    throw new CommandFailure(
      exitCodes.refused,
      'the companion is running; stop it first: svc companion stop',
    );
  }
  const removed = await uninstall(login);
  if (flags.purge === true) {
    await rm(paths.settings, { force: true });
    await rm(paths.state, { recursive: true, force: true });
    removed.push(paths.settings, paths.state);
  }
  for (const path of removed) io.out.line(`Removed ${path}`);
  if (removed.length === 0) io.out.line('It was not set up to start at login.');
}

async function contactOf(io: Io): Promise<Contact> {
  const contact = await readContact(companionPaths(placeOf(io)).state);
  if (contact === null) throw notRunning();
  return contact;
}

async function stateOf(contact: Contact): Promise<CompanionState> {
  const state = await askCompanion(contact, 'state');
  if (!isState(state)) throw notRunning();
  return state;
}

/** The running companion is most likely of this version; an older one has at least the same blocks. */
function isState(value: unknown): value is CompanionState {
  return isFields(value) && isFields(value.settings) && isFields(value.worker) && isFields(value.today);
}

function notRunning(): CommandFailure {
  return new CommandFailure(exitCodes.refused, 'the companion is not running; start it with: svc companion');
}

function placeOf({ env }: Io): Place {
  return { env, platform: process.platform };
}
