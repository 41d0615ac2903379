import { localProviders } from '../../../config/config.ts';
import { modelLoadingCode } from '../../../domain/failure.ts';
import { type Fields, isFields } from '../../../lib/fields.ts';
import { settingAtFault } from '../../../lib/socketFailure.ts';
import { systemClock } from '../../../lib/systemClock.ts';
import { ProviderRefused, ProviderUnreachable } from '../../provider.ts';
import { classify } from '../errors/classify.ts';
import { httpFailureOf } from '../http/httpFailure.ts';
import { openStream } from '../http/openStream.ts';
import { beginOf } from '../http/readBody.ts';
import { type Timeouts, TimeoutWatch } from '../http/timeoutWatch.ts';

/** Listing models is a quick lookup. */
const listTimeouts: Timeouts = { connectMs: 5_000, firstMs: 10_000, idleMs: 10_000, totalMs: 10_000 };
/** Bytes; OpenRouter's list of 700 models takes 1 MiB. */
const listMax = 16 * 1024 * 1024;

/** One address where a server lists its models. */
export interface ModelListing {
  url: string;
  /** The names in its answer, preferably those that are loaded; null when it is not such a list. */
  names(list: Fields): string[] | null;
  /** All names that can be requested; absent: the same. */
  all?(list: Fields): string[] | null;
}

/** The models of a server. */
export interface ModelsFound {
  names: string[];
  all: string[];
}

/** A server with models. */
export interface ModelServer {
  name: string;
  /** For messages. */
  address: string;
  headers: Readonly<Record<string, string>>;
  /** Of its configured address; added to every request. */
  query?: string;
  /** Its configured models: then it need list none, and only has to answer. */
  known?: readonly string[] | undefined;
  /** The first that returns a list counts. */
  lists: readonly ModelListing[];
  /** How to start it, a sentence without its full stop; absent: it is a cloud service. */
  start?: string;
  /** Removes keys from a text. */
  hide(text: string): string;
}

/**
 * Request the models of a server.
 * @throws ProviderUnreachable when it does not answer, or is another server; ProviderRefused when it refuses our key.
 */
export async function listModels(server: ModelServer): Promise<string[]> {
  return (await findModels(server)).names;
}

/** The same, with all names that can be requested. */
export async function findModels(server: ModelServer): Promise<ModelsFound> {
  const { name, address } = server;
  let status = 0;
  if (server.known !== undefined) return knownModels(server, server.known);
  for (const { url, names, all = names } of server.lists) {
    const answer = await ask(server, url);
    const list = answer.status === 200 ? answer.list : null;
    const models = list === null ? null : names(list);
    if (list !== null && models !== null) return { names: models, all: all(list) ?? models };
    if (answer.failure?.class === 'auth') throw new ProviderRefused(answer.failure.message);
    if (answer.failure?.code === modelLoadingCode) {
      const { failure } = answer;
      throw new ProviderUnreachable(name, address, failure.message, 'Wait until it is loaded', { failure });
    }
    status = answer.status;
  }
  throw new ProviderUnreachable(
    name,
    address,
    `the server there (status ${status}) does not answer like ${name}`,
    elsewhere(name),
  );
}

/** A gateway may have no list, or refuse it to a key that may run models; any answer shows that it is there. */
async function knownModels(server: ModelServer, known: readonly string[]): Promise<ModelsFound> {
  const [first] = server.lists;
  const failure = first === undefined ? null : (await ask(server, first.url)).failure;
  if (failure?.class === 'auth' && failure.status === 401) throw new ProviderRefused(failure.message);
  return { names: [...known], all: [...known] };
}

async function ask(server: ModelServer, url: string) {
  const { name, address, headers, query = '', start = 'Is this machine online', hide } = server;
  const watch = new TimeoutWatch(systemClock, listTimeouts, new AbortController().signal);
  try {
    const answer = await openStream({
      method: 'GET',
      url: withQuery(new URL(url), query),
      headers,
      watch,
    });
    const text = await beginOf(answer.body, listMax);
    const { status } = answer;
    if (status === 200) return { status, list: listIn(text), failure: null };
    const refusal = { status, headers: answer.headers, body: text };
    return { status, list: null, failure: classify(refusal, { name, hide }, systemClock.now()) };
  } catch (error) {
    const { message, code } = httpFailureOf(error);
    // An untrusted certificate, for example, means that it is already running.
    const advice = settingAtFault(code ?? '') === null ? `${start}. ${elsewhere(name)}` : elsewhere(name);
    throw new ProviderUnreachable(name, address, message, advice, { cause: error });
  } finally {
    watch.end();
  }
}

/** The settings of a server's address; the variable is for the built-in local ones. */
function elsewhere(name: string): string {
  const variable = localProviders.includes(name) ? 'SVC_LOCAL_MODEL_HOST or ' : '';
  return `If it is elsewhere, set ${variable}providers.${name}.base_url`;
}

/** A bare list, as some proxies return it, is treated as one under `data`. */
function listIn(text: string): Fields | null {
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? { data: parsed } : isFields(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

/** The field `key` of each object of a list; null when it is not a list. */
export function namesIn(list: unknown, key: string): string[] | null {
  if (!Array.isArray(list)) return null;
  const items: unknown[] = list;
  return items.flatMap((item) => {
    const name = isFields(item) ? item[key] : null;
    return typeof name === 'string' && name !== '' ? [name] : [];
  });
}

/** `{data: [{id}]}`: GET /models of OpenAI, of all compatible servers, and of Anthropic. */
export function openAiNames({ data }: Fields): string[] | null {
  return namesIn(data, 'id');
}

/** Scheme, host, port and path of an address, without its user name and password. */
export function addressOf(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl);
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}

/** An address without its query and trailing slashes. */
export function baseOf(url: string): string {
  return url.replace(/\?.*$/s, '').replace(/\/+$/, '');
}

/** The query of an address, without its question mark; empty when there is none. */
export function queryOf(url: string | null): string {
  return url === null ? '' : new URL(url).search.replace(/^\?/, '');
}

/** The address with another query added to its own. */
export function withQuery(url: URL, query: string): URL {
  if (query !== '') url.search = url.search === '' ? query : `${url.search}&${query}`;
  return url;
}
