import { type Command, Option } from 'commander';
import { apiKeyProblem, readApiKey, variable } from '../../config/environment.ts';
import { ConfigError } from '../../config/problem.ts';
import { plainLine } from '../../lib/plainText.ts';
import { onStopSignal } from '../../lib/stopSignal.ts';
import { createCommand } from '../command.ts';
import { type ConnectionOptions, readKeyFile } from '../connection.ts';
import { CommandFailure, exitCodes } from '../exit.ts';
import { type Io, processIo } from '../io.ts';
import { type ClientName, clientNames } from './clients.ts';
import { readSecret } from './secret.ts';

interface Flags extends ConnectionOptions {
  setKey?: true;
  setUrl?: string;
  install?: ClientName;
  print?: true;
}

const help = `
Settings:
  ~/.config/svc/mcp.yaml ($XDG_CONFIG_HOME), readable by you alone:
    url: http://127.0.0.1:7420
    api_key: svc_...
  --url, --key-file, SVC_COORDINATOR_URL and SVC_API_KEY win over the file. A change of the file takes effect at once.`;

/** `svc mcp`: the bridge that MCP clients start, its settings, and its entry in the settings of clients. */
export function mcpCommand(io: Io = processIo()): Command {
  return createCommand('mcp', 'Serve MCP on standard input and output, for clients that start a process', [
    'svc mcp --set-key < key.txt                      store the key; on a terminal it asks for it',
    'svc mcp --set-url https://svc.example.com        store the address of the coordinator',
    'svc mcp --install claude                         add it to Claude Code',
    'svc mcp --install codex --print                  print the entry for Codex, and write nothing',
    'svc mcp                                          what the client starts; it speaks the protocol',
  ])
    .addHelpText('after', help)
    .option('--set-key', 'read a key from standard input and store it, with the address of --url if given')
    .option('--set-url <url>', 'store the address of the coordinator')
    .addOption(
      new Option('--install <client>', 'add this command to the settings of a client').choices(clientNames),
    )
    .option('--print', 'with --install: print the entry, and write nothing')
    .action(async (_options: Flags, command: Command) => {
      const flags = command.optsWithGlobals<Flags>();
      if (flags.print && flags.install === undefined)
        throw new CommandFailure(exitCodes.usage, '--print goes with --install');
      if (flags.setKey || flags.setUrl !== undefined) await store(flags, io);
      if (flags.install !== undefined) {
        const { install } = await import('./install.ts');
        await install(flags.install, { isPrinted: flags.print === true }, io);
      } else if (!flags.setKey && flags.setUrl === undefined) await serve(flags, io);
    });
}

/** @throws CommandFailure (usage) for an address or a key that cannot be used. */
async function store({ setKey, url, setUrl = setKey ? url : undefined }: Flags, io: Io): Promise<void> {
  const { settingsPath, urlProblem, writeSettings } = await import('../../mcp/bridge/settings.ts');
  const wrongUrl = setUrl === undefined ? null : urlProblem(setUrl);
  if (wrongUrl !== null) throw new CommandFailure(exitCodes.usage, `The address ${wrongUrl}`);
  const key = setKey ? await readSecret('API key: ', io) : null;
  const wrongKey = key === null ? null : apiKeyProblem(key);
  if (wrongKey !== null) throw new CommandFailure(exitCodes.usage, `--set-key: the key ${wrongKey}`);
  const path = settingsPath(io.env);
  await writeSettings(path, {
    ...(setUrl === undefined ? {} : { url: setUrl }),
    ...(key === null ? {} : { api_key: key }),
  });
  const stored = [...(setUrl === undefined ? [] : ['the address']), ...(key === null ? [] : ['the key'])];
  io.out.line(`Stored ${stored.join(' and ')} in ${path}`);
}

/** Until the client closes standard input, or a signal. */
async function serve({ url, keyFile }: Flags, io: Io): Promise<void> {
  const { apiKey, problems } = readApiKey(io.env);
  if (problems.length > 0) throw new ConfigError(problems);
  const fixed = {
    url: url ?? variable(io.env, 'SVC_COORDINATOR_URL'),
    apiKey: keyFile === undefined ? apiKey : await readKeyFile(keyFile, io.cwd),
  };
  const { BridgeSettings, settingsPath } = await import('../../mcp/bridge/settings.ts');
  const { Bridge } = await import('../../mcp/bridge/bridge.ts');
  const settings = new BridgeSettings(settingsPath(io.env), fixed);
  const log = (line: string): void => io.err.line(`svc mcp: ${plainLine(line)}`);
  if (io.stdin.isTTY)
    log('a client starts this and speaks MCP to it; svc mcp --help says more. Ctrl-C ends it');
  if (await settings.isOpenToOthers()) log(`other users can read ${settings.path}: chmod 600 it`);
  const bridge = new Bridge({ settings, log });
  const ended = Promise.withResolvers<void>();
  const close = bridge.open();
  process.stdin.once('end', ended.resolve).once('close', ended.resolve);
  onStopSignal(ended.resolve, { hangup: true });
  await ended.promise;
  await close();
}
