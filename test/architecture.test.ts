import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import test from 'ava';

const root = resolve(import.meta.dirname, '..');

/** What each room may import of the others. A room that is missing here was never agreed on. */
const allowed: Record<string, readonly string[]> = {
  machines: ['domain'],
  domain: [],
  lib: ['domain'],
  config: ['domain', 'lib'],
  store: ['domain', 'lib'],
  routing: ['config', 'domain', 'lib'],
  cost: ['config', 'domain', 'lib'],
  auth: ['domain', 'lib'],
  coordinator: ['machines', 'routing', 'cost', 'store', 'auth', 'config', 'domain', 'lib'],
  present: ['coordinator', 'domain'],
  // Sends what the coordinator decides to send, over its port for that.
  webhooks: ['config', 'domain', 'lib'],
  metrics: ['coordinator', 'config', 'domain', 'lib'],
  http: ['present', 'metrics', 'coordinator', 'auth', 'config', 'domain', 'lib'],
  live: ['present', 'coordinator', 'auth', 'config', 'domain', 'lib'],
  // APIs in the form of other services: parsers and presenters over the same coordinator.
  front: ['http', 'present', 'coordinator', 'auth', 'config', 'domain', 'lib'],
  // The Model Context Protocol: tools over the same coordinator, and the bridge for clients that start a process.
  mcp: ['http', 'present', 'coordinator', 'config', 'domain', 'lib'],
  // Processes that parse and check requests, and what the core does with what they ask.
  fronts: ['http', 'present', 'metrics', 'coordinator', 'auth', 'config', 'domain', 'lib'],
  gateway: ['coordinator', 'auth', 'config', 'domain', 'lib'],
  // Made of the machines ahead of time, for the dashboard.
  charts: ['machines', 'dashboard', 'lib'],
  // Builds the npm package.
  package: ['lib'],
  // Shows the actors elsewhere, for maintainers.
  inspect: ['machines', 'coordinator', 'domain', 'lib'],
  // Files of prompts and of answers: what the command line reads and writes in bulk.
  bulk: ['domain', 'lib'],
  client: ['config', 'domain', 'lib'],
  worker: ['config', 'domain', 'lib'],
  // A program of its own beside a worker, which it starts as a process.
  companion: ['client', 'worker', 'config', 'domain', 'lib'],
  // Runs in a browser and knows the coordinator by its API alone.
  dashboard: ['client', 'domain', 'lib'],
  assemble: [
    'webhooks',
    'front',
    'mcp',
    'http',
    'metrics',
    'live',
    'gateway',
    'coordinator',
    'cost',
    'store',
    'auth',
    'config',
    'domain',
    'lib',
  ],
  backup: ['store', 'config', 'domain', 'lib'],
  service: [
    'assemble',
    'fronts',
    'http',
    'worker',
    'inspect',
    'coordinator',
    'auth',
    'config',
    'domain',
    'lib',
  ],
  commands: [
    'service',
    'companion',
    'backup',
    'bulk',
    'mcp',
    'client',
    'worker',
    'cost',
    'config',
    'domain',
    'lib',
  ],
  svc: ['commands', 'lib'],
};

/** Types of a query or a page may cross: `http` hands a `JobQuery` to the coordinator and never sees a store. */
const typesOnly: Record<string, readonly string[]> = { http: ['store'], mcp: ['store'] };

function roomOf(file: string): string {
  const [first = '', second = ''] = relative(root, file).split('/');
  return first === 'machines' ? 'machines' : second.replace(/\.ts$/, '');
}

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(root, folder, name));
}

const files = [...sources('src'), ...sources('machines')];
const importLine = /^(?:import|export)\s(type\s)?[^'"]*?from\s+'([^']+)'/gm;
/** Files that a file imports, types included. */
function importsOf(file: string): string[] {
  return [...readFileSync(file, 'utf8').matchAll(importLine)].flatMap(([, , from = '']) =>
    from.startsWith('.') && /\.tsx?$/.test(from) ? [resolve(dirname(file), from)] : [],
  );
}
/** Of what is loaded only when it is needed. */
const lateImport = /\bimport\('([^']+)'\)/g;

test('imports point one way: each room imports only the rooms below it', (t) => {
  const wrong: string[] = [];
  for (const file of files) {
    const room = roomOf(file);
    t.truthy(allowed[room], `${room} is no room of the architecture`);
    for (const [, isType, from = ''] of readFileSync(file, 'utf8').matchAll(importLine)) {
      if (!from.startsWith('.')) continue;
      const target = resolve(dirname(file), from);
      const other = roomOf(target);
      const may = [room, ...(allowed[room] ?? []), ...(isType === undefined ? [] : (typesOnly[room] ?? []))];
      if (!may.includes(other)) wrong.push(`${relative(root, file)} imports ${from}`);
    }
    for (const [, from = ''] of readFileSync(file, 'utf8').matchAll(lateImport)) {
      const other = from.startsWith('.') ? roomOf(resolve(dirname(file), from)) : room;
      if (![room, ...(allowed[room] ?? [])].includes(other))
        wrong.push(`${relative(root, file)} loads ${from}`);
    }
  }
  t.deepEqual(wrong, []);
});

/** The rooms of the coordinator and the rooms that each is built on. What puts them together is beside them. */
const roomsBelow: Record<string, readonly string[]> = {
  core: [],
  limits: ['core'],
  jobs: ['core', 'limits'],
  files: ['core'],
  spools: ['core', 'jobs'],
  runs: ['core', 'jobs'],
  webhooks: ['core'],
  batches: ['core', 'jobs', 'runs', 'files'],
  fleet: ['core', 'limits', 'jobs'],
  dispatch: ['core', 'limits', 'jobs', 'runs', 'fleet'],
  duties: ['core', 'jobs', 'fleet'],
  observe: ['core', 'limits', 'runs', 'fleet'],
};

test('a room of the coordinator imports only the rooms below it, each by its door', (t) => {
  const roomIn = (file: string): string =>
    /^src\/coordinator\/([a-z]+)\//.exec(relative(root, file))?.[1] ?? '';
  const wrong: string[] = [];
  for (const file of files) {
    const room = roomIn(file);
    if (room !== '') t.truthy(roomsBelow[room], `${room} is no room of the coordinator`);
    for (const from of importsOf(file)) {
      const other = roomIn(from);
      if (other === '' ? room !== '' && dirname(from).endsWith('/coordinator') : other !== room) {
        const isBelow = room === '' || roomsBelow[room]?.includes(other) === true;
        if (!isBelow || !from.endsWith('/index.ts'))
          wrong.push(`${relative(root, file)} imports ${relative(root, from)}`);
      }
    }
  }
  t.deepEqual(wrong, []);
});

test('no files import each other in a circle, types included', (t) => {
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) {
      const circle = path.slice(path.indexOf(file));
      circles.push([...circle, file].map((one) => relative(root, one)).join(' → '));
    } else if (!done.has(file)) {
      for (const other of importsOf(file)) visit(other, [...path, file]);
      done.add(file);
    }
  };
  for (const file of files) visit(file, []);
  t.deepEqual(circles, []);
});

test('no file is longer than 400 lines', (t) => {
  const long = files.map((file) => [relative(root, file), readFileSync(file, 'utf8').split('\n').length - 1]);
  t.deepEqual(
    long.filter(([, lines]) => Number(lines) > 400),
    [],
  );
});

test('what a command needs alone is loaded by that command: svc jobs list starts in a quarter of the time', (t) => {
  const loaded = new Set<string>();
  const packages = new Set<string>();
  const load = (file: string): void => {
    if (loaded.has(file) || !file.endsWith('.ts')) return;
    loaded.add(file);
    for (const [, isType, from = ''] of readFileSync(file, 'utf8').matchAll(importLine)) {
      if (isType !== undefined) continue;
      if (from.startsWith('.')) load(resolve(dirname(file), from));
      else if (!from.startsWith('node:')) packages.add(from);
    }
  };
  load(join(root, 'src/commands/main.ts'));
  t.false(loaded.has(join(root, 'src/service.ts')));
  t.false([...loaded].some((file) => roomOf(file) === 'coordinator'));
  t.deepEqual([...packages].sort(), ['commander', 'yup']);
});

test('memory knows no log but by its port, and a log knows nothing of memory', (t) => {
  const partOf = (file: string): string => /^src\/store\/([a-z]+)\//i.exec(relative(root, file))?.[1] ?? '';
  // The one place that puts a log under a memory.
  const joined = ['src/store/json/jsonStore.ts'];
  const wrong: string[] = [];
  for (const file of files.filter((one) => roomOf(one) === 'store')) {
    const part = partOf(file);
    if (part === '' || joined.includes(relative(root, file))) continue;
    for (const [, , from = ''] of readFileSync(file, 'utf8').matchAll(importLine)) {
      const other = from.startsWith('.') ? partOf(resolve(dirname(file), from)) : '';
      if (!['', part, 'changes'].includes(other)) wrong.push(`${relative(root, file)} imports ${from}`);
    }
  }
  t.deepEqual(wrong, []);
});

test('coordinator, store and gateway ask the process for neither time, randomness nor files', (t) => {
  const forbidden = /\b(Date\.now|setTimeout|setInterval|Math\.random|performance\.now)\b|'node:fs/;
  const wrong = files
    .filter((file) =>
      ['coordinator', 'store', 'gateway', 'machines', 'routing', 'cost'].includes(roomOf(file)),
    )
    // The port's own implementation on the real file system is the one place.
    .filter((file) => !file.endsWith('src/store/json/files.ts'))
    .filter((file) => forbidden.test(readFileSync(file, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')));
  t.deepEqual(
    wrong.map((file) => relative(root, file)),
    [],
  );
});
