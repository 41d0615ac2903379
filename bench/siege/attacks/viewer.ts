import { type Attack, pause, type Siege } from '../attacker.ts';
import { ask, outcome, Raw } from '../wire.ts';
import { search } from './search.ts';

const starveMs = 30_000;
const topicsOfFrame = 40;
const framesOfConnection = 3;

const lists = [
  '/api/jobs?limit=1000&include=request,input,result',
  '/api/jobs?limit=1000&include=input,result',
  '/api/jobs?limit=1000',
  '/api/jobs?limit=1000&offset=9000',
  '/api/jobs?tag=large&limit=50&include=request',
];
const pages = [
  '/api/workers',
  '/api/stats',
  '/api/machines',
  '/api/providers',
  '/api/cost/breakdown?period=month',
];

export const viewerAttacks: readonly Attack[] = [
  { name: 'unread large jobs', atOnce: 480, pauseMs: 500, round: unreadJob },
  {
    name: 'unread event streams',
    atOnce: 150,
    pauseMs: 500,
    round: async (siege) => {
      const raw = await Raw.open(siege);
      raw.write(Raw.head(siege, 'GET /api/events?topics=jobs,stats,workers,machines'));
      return raw.starve(starveMs, siege.over);
    },
  },
  { name: 'sockets that name 40 large jobs', atOnce: 20, pauseMs: 200, round: unreadTopics },
  { name: 'all live places', atOnce: 1_200, pauseMs: 2_000, round: livePlace },
  {
    name: 'large lists',
    atOnce: 4,
    pauseMs: 20,
    round: (siege, turn) => outcome(siege, { path: pathOf(lists, turn) }),
  },
  {
    name: 'large lists that are not read',
    atOnce: 20,
    pauseMs: 200,
    round: async (siege, turn) => {
      const raw = await Raw.open(siege);
      raw.write(Raw.head(siege, `GET ${pathOf(lists, turn)}`));
      return raw.starve(starveMs, siege.over);
    },
  },
  {
    name: 'exports that are read slowly',
    atOnce: 4,
    pauseMs: 200,
    round: (siege) => outcome(siege, { path: '/api/jobs/export', bytesPerSecond: 256 * 1024 }),
  },
  { name: 'searches', atOnce: 4, pauseMs: 20, round: search },
  {
    name: 'pages',
    atOnce: 2,
    pauseMs: 10,
    round: (siege, turn) => outcome(siege, { path: pathOf(pages, turn) }),
  },
];

function pathOf(paths: readonly string[], turn: number): string {
  return paths[turn % paths.length] ?? '/';
}

/** Ids of the large jobs, one more at each look: a list that has several whole ones is long. */
const known = { lookedAt: Number.NEGATIVE_INFINITY, ids: new Set<string>() };
const lookEveryMs = 1_000;

async function largeIds(siege: Siege): Promise<string[]> {
  if (performance.now() - known.lookedAt > lookEveryMs && known.ids.size < topicsOfFrame) {
    known.lookedAt = performance.now();
    const path = `/api/jobs?tag=large&limit=1&offset=${known.ids.size}`;
    const { text } = await ask(siege, { path });
    const id = /"id":"([0-9a-f-]{36})"/.exec(text)?.[1];
    if (id !== undefined) known.ids.add(id);
  }
  return [...known.ids];
}

async function unreadJob(siege: Siege, turn: number): Promise<string | null> {
  const [large] = await largeIds(siege);
  if (large === undefined) {
    await pause(1_000, siege.over);
    return null;
  }
  const raw = await Raw.open(siege);
  const path = turn % 2 === 0 ? `/api/jobs/${large}` : `/api/jobs/${large}?wait=1`;
  raw.write(Raw.head(siege, `GET ${path}`));
  return raw.starve(starveMs, siege.over);
}

async function unreadTopics(siege: Siege): Promise<string> {
  const ids = await largeIds(siege);
  const raw = await openLive(siege);
  for (let frame = 0; frame < framesOfConnection; frame++) {
    const topics = Array.from(
      { length: topicsOfFrame },
      (_, index) => `job:${ids[index % ids.length] ?? index}`,
    );
    raw.write(textFrame(JSON.stringify({ type: 'subscribe', topics })));
  }
  return raw.starve(starveMs, siege.over);
}

async function livePlace(siege: Siege): Promise<string> {
  const raw = await openLive(siege);
  raw.write(textFrame(JSON.stringify({ type: 'subscribe', topics: ['stats'] })));
  return raw.hold(starveMs);
}

async function openLive(siege: Siege): Promise<Raw> {
  const raw = await Raw.open(siege);
  raw.write(
    Raw.head(siege, 'GET /ws', {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': 13,
      'sec-websocket-key': Buffer.alloc(16, 1).toString('base64'),
      'sec-websocket-protocol': 'svc.v1',
    }),
  );
  return raw;
}

/** A text frame as clients send it, of less than 64 KiB; a mask of zeros changes nothing. */
function textFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  const isShort = payload.length < 126;
  const head = Buffer.from(
    isShort
      ? [0x81, 0x80 | payload.length, 0, 0, 0, 0]
      : [0x81, 0x80 | 126, payload.length >> 8, payload.length & 0xff, 0, 0, 0, 0],
  );
  return Buffer.concat([head, payload]);
}
