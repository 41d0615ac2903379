import { randomBytes } from 'node:crypto';
import { createReadStream, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import OpenAI, { toFile } from 'openai';
import { environmentKey, setupApi } from '../../support/api.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { adminKey, until } from '../../support/process.ts';
import { type Stoppable, startHere } from '../../support/service.ts';
import { field, filePart, formEnd, formOf, uploading } from './forms.ts';
import { clientOf } from './support.ts';

const line = '{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{}}\n';

interface FilesHere extends Stoppable {
  openai: OpenAI;
  /** What is in the folder of the files. */
  stored(): string[];
  /** A client with a key of its own. */
  another(role?: 'viewer' | 'client' | 'operator'): Promise<OpenAI>;
}

/** A coordinator in this process, and OpenAI's own SDK as its client. */
async function filesHere(t: ExecutionContext, config: Record<string, unknown> = {}): Promise<FilesHere> {
  const here = await startHere(t, { config });
  return {
    ...here,
    openai: clientOf(here.url),
    stored: () => readdirSync(join(here.folder, 'files')),
    another: async (role = 'client') =>
      clientOf(here.url, (await here.client.createKey({ role, name: role })).key),
  };
}

/** Files of the folder that this process has open; none where the system does not tell. */
function openBlobs({ folder }: Stoppable): string[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc/self/fd').flatMap((name) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${name}`);
      return target.startsWith(join(folder, 'files')) ? [target] : [];
    } catch {
      // Closed meanwhile.
      return [];
    }
  });
}

const lines = (name = 'lines.jsonl') => toFile(Buffer.from(line), name);

interface Sent {
  status: number;
  error: { message: string; param: string | null; code: string | null };
  retry: string | null;
}

/** POST /v1/files with a body by hand. */
async function send(
  { url }: Stoppable,
  body: string | Readable,
  type = 'multipart/form-data; boundary=x',
): Promise<Sent> {
  const response = await fetch(`${url}/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': type },
    body: typeof body === 'string' ? body : Readable.toWeb(body),
    duplex: 'half',
  } as RequestInit);
  const { error } = (await response.json()) as { error?: Sent['error'] };
  return {
    status: response.status,
    error: error ?? { message: '', param: null, code: null },
    retry: response.headers.get('x-should-retry'),
  };
}

test('a file is uploaded, shown, read and deleted, as the SDK has it', async (t) => {
  const { openai, stored } = await filesHere(t);
  const before = Math.floor(Date.now() / 1000);
  const file = await openai.files.create({ file: await lines('à b.jsonl'), purpose: 'batch' });
  t.regex(file.id, /^file-[0-9a-f]{32}$/);
  t.like(file, { object: 'file', bytes: line.length, purpose: 'batch', status: 'processed' });
  t.is(file.filename, 'à b.jsonl');
  t.true(file.created_at >= before);
  t.is(file.expires_at, file.created_at + 30 * 86_400);
  t.deepEqual(await openai.files.retrieve(file.id), file);
  t.deepEqual(await openai.files.waitForProcessing(file.id), file);
  const content = await openai.files.content(file.id);
  t.is(content.headers.get('content-type'), 'application/octet-stream');
  t.is(content.headers.get('content-length'), String(line.length));
  t.is(await content.text(), line);
  t.deepEqual(await openai.files.delete(file.id), { id: file.id, object: 'file', deleted: true });
  for (const gone of [
    openai.files.retrieve(file.id),
    openai.files.content(file.id),
    openai.files.delete(file.id),
  ]) {
    const error = await t.throwsAsync(gone, { instanceOf: OpenAI.NotFoundError });
    t.like(error, { code: 'not_found', param: 'id', type: 'invalid_request_error' });
  }
  t.deepEqual(stored(), []);
});

test('a stream, an empty file and expires_after are taken; only a batch has an expiry of its own', async (t) => {
  const { openai } = await filesHere(t, { front: { files: { days: 0.5 } } });
  const path = join(temporaryFolder(t), 'data.bin');
  const bytes = randomBytes(3_000_000);
  writeFileSync(path, bytes);
  const streamed = await openai.files.create({ file: createReadStream(path), purpose: 'user_data' });
  t.like(streamed, { filename: 'data.bin', bytes: bytes.length, purpose: 'user_data' });
  t.false('expires_at' in streamed);
  t.true(Buffer.from(await (await openai.files.content(streamed.id)).arrayBuffer()).equals(bytes));
  const empty = await openai.files.create({
    file: await toFile(Buffer.alloc(0), 'e.jsonl'),
    purpose: 'batch',
  });
  t.like(empty, { bytes: 0, expires_at: empty.created_at + 43_200 });
  t.is(await (await openai.files.content(empty.id)).text(), '');
  const short = await openai.files.create({
    expires_after: { anchor: 'created_at', seconds: 3_600 },
    purpose: 'batch',
    file: await lines(),
  });
  t.is(short.expires_at, short.created_at + 3_600);
  t.is(
    (
      await fetch(`${openai.baseURL}/files/${streamed.id}/content`, {
        method: 'HEAD',
        headers: { 'x-api-key': adminKey },
      })
    ).headers.get('content-length'),
    '3000000',
  );
});

test('a list has pages, an order and a purpose, and goes on after a file that was deleted', async (t) => {
  const { openai } = await filesHere(t);
  t.deepEqual((await openai.files.list()).data, []);
  const ids: string[] = [];
  for (let count = 0; count < 5; count += 1) {
    const purpose = count === 2 ? 'evals' : 'batch';
    ids.push((await openai.files.create({ file: await lines(), purpose })).id);
    await sleep(2);
  }
  const page = await openai.files.list({ limit: 2, order: 'asc' });
  t.deepEqual(
    page.data.map(({ id }) => id),
    ids.slice(0, 2),
  );
  t.like(await openai.get('/files', { query: { limit: 2, order: 'asc' } }), {
    object: 'list',
    has_more: true,
    first_id: ids[0],
    last_id: ids[1],
  });
  t.deepEqual(
    (await openai.files.list({ purpose: 'evals' })).data.map(({ id }) => id),
    [ids[2]],
  );
  const seen: string[] = [];
  for await (const { id } of openai.files.list({ limit: 2 })) {
    seen.push(id);
    await openai.files.delete(id);
  }
  t.deepEqual(seen, ids.toReversed());
  const wrong: [object, string][] = [
    [{ limit: 0 }, 'limit'],
    [{ limit: 10_001 }, 'limit'],
    [{ order: 'up' }, 'order'],
    [{ after: 'file-1' }, 'after'],
  ];
  for (const [query, param] of wrong) {
    const error = await t.throwsAsync(openai.get('/files', { query }), {
      instanceOf: OpenAI.BadRequestError,
    });
    t.like(error, { param, code: 'invalid_value' });
  }
});

test('a client key has its own files; others of that role see none of them, viewers and operators do', async (t) => {
  const { openai, another, client } = await filesHere(t);
  const [first, second, viewer, operator] = await Promise.all([
    another(),
    another(),
    another('viewer'),
    another('operator'),
  ]);
  const { id } = await first.files.create({ file: await lines(), purpose: 'batch' });
  for (const reader of [first, viewer, operator, openai]) {
    t.is((await reader.files.retrieve(id)).id, id);
    t.is(await (await reader.files.content(id)).text(), line);
    t.is((await reader.files.list()).data.length, 1);
  }
  t.deepEqual((await second.files.list()).data, []);
  for (const refused of [second.files.retrieve(id), second.files.content(id), second.files.delete(id)])
    await t.throwsAsync(refused, { instanceOf: OpenAI.NotFoundError });
  for (const forbidden of [
    viewer.files.delete(id),
    viewer.files.create({ file: await lines(), purpose: 'batch' }),
  ])
    await t.throwsAsync(forbidden, { instanceOf: OpenAI.PermissionDeniedError });
  await operator.files.delete(id);
  const own = await first.files.create({ file: await lines(), purpose: 'batch' });
  await first.files.delete(own.id);
  // Only what somebody does to the files of others is in the audit log.
  const { entries } = await client.audit({ action: 'file.deleted' });
  t.deepEqual(
    entries.map(({ actor, target }) => [actor?.role, target.name]),
    [['operator', 'lines.jsonl']],
  );
});

test('a form that cannot be taken is refused by name, and nothing of it is kept', async (t) => {
  const here = await filesHere(t, { front: { files: { max_file_bytes: 2_000 } } });
  const purpose = field('purpose', 'batch');
  const file = filePart('a.jsonl', line);
  const seconds = (value: string) => field('expires_after[seconds]', value);
  const anchor = field('expires_after[anchor]', 'created_at');
  const refused: [string, string[], string | null, number?][] = [
    ['no file', [purpose], 'file'],
    ['no purpose', [file], 'purpose'],
    ['another purpose', [file, field('purpose', 'fun')], 'purpose'],
    ['an output', [field('purpose', 'batch_output'), file], 'purpose'],
    ['a batch of another name', [purpose, filePart('a.txt', line)], 'file'],
    ['no name', [purpose, filePart('', line)], 'file'],
    ['a long name', [purpose, filePart(`${'x'.repeat(250)}.jsonl`, line)], 'file'],
    ['a file that is a field', [purpose, field('file', line)], 'file'],
    ['two files', [purpose, file, file], 'file'],
    ['seconds alone', [purpose, file, seconds('3600')], 'expires_after[anchor]'],
    [
      'another anchor',
      [file, purpose, field('expires_after[anchor]', 'x'), seconds('3600')],
      'expires_after[anchor]',
    ],
    ['an anchor alone', [purpose, file, anchor], 'expires_after[seconds]'],
    ['a short life', [purpose, file, anchor, seconds('3599')], 'expires_after[seconds]'],
    ['a long life', [purpose, file, anchor, seconds('2592001')], 'expires_after[seconds]'],
    ['half a second', [purpose, file, anchor, seconds('3600.5')], 'expires_after[seconds]'],
    ['a huge purpose', [file, field('purpose', 'x'.repeat(100_000))], 'purpose'],
    ['10,000 fields', [file, ...Array<string>(10_000).fill(field('a', 'b'))], null],
    ['headers of 1 MB', [purpose, `X: ${'x'.repeat(1024 ** 2)}\r\n${file}`], null, 0],
    ['no part', [], null, 0],
  ];
  for (const [what, parts, param, exact] of refused) {
    const { status, error, retry } = await send(here, formOf(parts));
    t.true(status === 400 || status === 413, `${what}: ${status} ${error.message}`);
    if (exact === undefined) t.is(error.param, param, `${what}: ${error.message}`);
    t.is(retry, 'false', what);
  }
  const large = await send(here, formOf([purpose, filePart('a.jsonl', 'x'.repeat(2_001))]));
  t.like(large, { status: 413, error: { code: 'payload_too_large' } });
  t.regex(large.error.message, /front\.files\.max_file_bytes \(2000\)/);
  for (const [what, body, type, status] of [
    ['no boundary', formOf([purpose, file]), 'multipart/form-data', 400],
    ['another type', '{}', 'application/json', 415],
    ['another boundary', formOf([purpose, file]), 'multipart/form-data; boundary=y', 400],
    ['no end', formOf([purpose, file]).slice(0, -20), undefined, 400],
    ['no form', 'x'.repeat(100_000), undefined, 400],
    ['nothing', '', undefined, 400],
    [
      'a huge field that is not known',
      formOf([field('a', 'x'.repeat(3_000_000)), purpose, file]),
      undefined,
      413,
    ],
  ] as const) {
    const sent = await send(here, body, type);
    t.is(sent.status, status, `${what}: ${sent.error.message}`);
  }
  t.deepEqual(here.stored(), []);
  const { data } = await here.openai.files.list();
  t.deepEqual(data, []);
  const ignored = formOf([
    field('what', 'ever'),
    filePart('a.jsonl', 'x'.repeat(2_000)),
    field('__proto__', 'x'),
    purpose,
  ]);
  t.is((await send(here, `preamble\r\n${ignored}epilogue`)).status, 200);
  t.is(here.stored().length, 1);
});

test('what follows the refusal in the same form is not kept, and the connection can be used again', async (t) => {
  const here = await filesHere(t, { front: { files: { max_file_bytes: 100_000 } } });
  const many = Array<string>(60).fill(field('a', 'b'));
  const chunked = (parts: readonly string[]) => Readable.from([Buffer.from(formOf(parts))]);
  for (const body of [
    chunked([...many, filePart('a.jsonl', line)]),
    chunked([...many, filePart('a.jsonl', line.repeat(1_000))]),
  ])
    t.like(await send(here, body), { status: 400, error: { message: 'The form has more than 50 fields' } });
  const endless = Readable.from(
    (async function* () {
      yield `--x\r\n${field('a', '')}`;
      for (let sent = 0; sent < 100; sent += 1) yield Buffer.alloc(100_000);
    })(),
    { objectMode: false },
  );
  t.like(await send(here, endless), { status: 413, error: { code: 'payload_too_large' } });
  for (let count = 0; count < 3; count += 1) t.is((await here.openai.files.list()).data.length, 0);
  t.deepEqual(here.stored(), []);
  t.deepEqual(openBlobs(here), []);
});

test('a reader that stops is cut, one that goes is gone, and neither keeps the file open', async (t) => {
  const here = await filesHere(t, { http: { unread_timeout_seconds: 1 } });
  const file = await toFile(Buffer.alloc(30_000_000), 'a');
  const { id } = await here.openai.files.create({ file, purpose: 'user_data' });
  const { body } = await here.openai.files.content(id);
  await body?.cancel();
  const stopped = await new Promise<IncomingMessage>((resolve) => {
    const headers = { authorization: `Bearer ${adminKey}` };
    httpRequest(`${here.url}/v1/files/${id}/content`, { headers }, resolve).end();
  });
  const broken = new Promise<boolean>((resolve) => {
    stopped.once('error', () => resolve(true)).once('end', () => resolve(false));
    // What is in the buffers of the connection can still be read.
    void sleep(4_000).then(() => stopped.resume());
  });
  t.true(await broken);
  await until('nobody has the file open', () => openBlobs(here).length === 0);
});

test('a key has its share, and all files their bound; deleting makes room', async (t) => {
  const { openai, another, stored } = await filesHere(t, { front: { files: { max_bytes: 100_000 } } });
  const client = await another();
  const bytes = (count: number) => toFile(Buffer.alloc(count, 'x'), 'a.jsonl');
  const { id } = await client.files.create({ file: await bytes(40_000), purpose: 'batch' });
  const share = await t.throwsAsync(client.files.create({ file: await bytes(20_000), purpose: 'batch' }), {
    instanceOf: OpenAI.RateLimitError,
  });
  t.like(share, { code: 'share_exceeded' });
  t.is((share as InstanceType<typeof OpenAI.RateLimitError>).headers.get('x-should-retry'), 'false');
  await openai.files.create({ file: await bytes(60_000), purpose: 'batch' });
  const full = await t.throwsAsync(openai.files.create({ file: await bytes(1), purpose: 'batch' }), {
    instanceOf: OpenAI.InternalServerError,
  });
  t.like(full, { status: 503, code: 'store_unavailable' });
  t.is(stored().length, 2);
  await client.files.delete(id);
  await client.files.create({ file: await bytes(20_000), purpose: 'batch' });
});

test('a client that goes midway leaves nothing', async (t) => {
  const here = await filesHere(t);
  const { request } = uploading(here);
  request.write(Buffer.alloc(1_000_000));
  await until('the upload has begun', () => Promise.resolve(here.stored().length === 1));
  request.destroy();
  await until('nothing is left', () => Promise.resolve(here.stored().length === 0));
  t.deepEqual((await here.openai.files.list()).data, []);
});

test('an upload ends with its key', async (t) => {
  const here = await filesHere(t);
  const { id, key } = await here.client.createKey({ role: 'client', name: 'ends' });
  const { request, answer } = uploading(here, key);
  request.write(Buffer.alloc(100_000));
  await until('the upload has begun', () => Promise.resolve(here.stored().length === 1));
  await here.client.revokeKey(id);
  t.is(await answer, 401);
  await until('nothing is left', () => Promise.resolve(here.stored().length === 0));
  request.destroy();
});

test('an upload that moves may take longer than other bodies', async (t) => {
  const here = await filesHere(t, { http: { body_timeout_seconds: 1, head_timeout_seconds: 1 } });
  const { request, answer } = uploading(here);
  for (let count = 0; count < 12; count += 1) {
    request.write(Buffer.alloc(10_000));
    await sleep(200);
  }
  request.end(formEnd);
  t.is(await answer, 200);
  const [file] = (await here.openai.files.list()).data;
  t.is(file?.bytes, 120_000);
});

test('an upload that hardly moves is cut, and nothing of it is kept', async (t) => {
  const { url, clock, folder, coordinator } = await setupApi(t);
  const { request, answer } = uploading({ url }, environmentKey);
  request.write('x');
  const stored = () => readdirSync(join(folder, 'files')).length;
  await until('the upload has begun', () => stored() === 1);
  clock.advance(9_000);
  t.is(stored(), 1);
  clock.advance(3_000);
  t.is(await answer, 408);
  await until('nothing is left', () => stored() === 0);
  t.deepEqual([coordinator.files.count, coordinator.files.bytes], [0, 0]);
  request.destroy();
});
