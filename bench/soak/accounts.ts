import type { WireCostSummary } from '../../src/domain/wire/cost.ts';
import type { WireJob } from '../../src/domain/wire/job.ts';
import { apiKey } from '../support/processes.ts';
import { ask } from './ask.ts';
import type { SoakLoad } from './load.ts';
import { againAfter, endsOf, kindOf, numberOf, redelivered } from './mix.ts';

const faultsShown = 20;

/** What the books say when everything has come to its end. */
export interface Accounts {
  acknowledged: number;
  /** Of them: in lists, or archived; the first of `export` are in lists. */
  stored: number;
  /** Acknowledged, and not there. */
  lost: number;
  /** Whatever else is not as it must be: a job twice, a wrong end, an attempt that nobody can explain. */
  faults: number;
  /** The first of both, for people. */
  examples: string[];
  /** Jobs that had another attempt because their worker had gone. */
  redelivered: number;
  attempts: number;
  inputTokens: number;
}

/** Read every job that the coordinator has, the archived ones too, and hold it against what was acknowledged. */
export async function settle(url: string, { ids, retried }: SoakLoad): Promise<Accounts> {
  const seen = new Uint8Array(ids.length);
  const accounts: Accounts = {
    acknowledged: ids.length,
    stored: 0,
    lost: 0,
    faults: 0,
    examples: [],
    redelivered: 0,
    attempts: 0,
    inputTokens: 0,
  };
  const fault = (count: 'lost' | 'faults', what: string) => {
    accounts[count] += 1;
    if (accounts.examples.length < faultsShown) accounts.examples.push(what);
  };
  for await (const job of allJobs(url)) {
    const number = numberOf(job);
    accounts.stored += 1;
    accounts.attempts += job.attempts.length;
    for (const { usage } of job.attempts) accounts.inputTokens += usage?.input_tokens ?? 0;
    if (ids[number] !== job.id) fault('faults', `${job.id} was never acknowledged`);
    else if (seen[number] === 1) fault('faults', `${job.id} is there twice`);
    seen[number] = 1;
    if (job.attempts.some(({ outcome }) => outcome !== null && redelivered.includes(outcome)))
      accounts.redelivered += 1;
    for (const what of faultsOf(job, retried.has(number))) fault('faults', `${job.id}: ${what}`);
  }
  for (const [number, id] of ids.entries()) if (seen[number] === 0) fault('lost', `${id} is lost`);
  for (const what of await faultsOfLedger(url, accounts)) fault('faults', what);
  return accounts;
}

function* faultsOf(job: WireJob, isRetried: boolean): Generator<string> {
  const kind = kindOf(numberOf(job));
  if (!endsOf[kind].includes(job.status)) yield `a ${kind} job ended ${job.status}`;
  const completed = job.attempts.filter(({ outcome }) => outcome === 'completed').length;
  if (completed !== (job.status === 'completed' ? 1 : 0)) yield `${completed} attempts completed it`;
  if (job.retry_count !== (isRetried ? 1 : 0)) yield `it was retried ${job.retry_count} times`;
  for (const { number, outcome } of job.attempts.slice(0, -1)) {
    const isKnown = outcome !== null && [...againAfter[kind], ...redelivered].includes(outcome);
    if (!isKnown) yield `attempt ${number} ended ${outcome}, and there was another`;
  }
  if (job.attempts.at(-1)?.outcome === null) yield 'its last attempt has not ended';
}

/** The ledger counts by itself what the attempts say. */
async function faultsOfLedger(url: string, { attempts, inputTokens }: Accounts): Promise<string[]> {
  const path = '/api/cost/summary?period=month';
  const summary = JSON.parse(await ask(url, 'GET', path, [200])) as WireCostSummary;
  const faults: string[] = [];
  if (summary.attempts !== attempts)
    faults.push(`the ledger has ${summary.attempts} attempts, the jobs ${attempts}`);
  if (summary.input_tokens !== inputTokens)
    faults.push(`the ledger has ${summary.input_tokens} input tokens, the jobs ${inputTokens}`);
  return faults;
}

async function* allJobs(url: string): AsyncGenerator<WireJob> {
  const headers = { authorization: `Bearer ${apiKey}` };
  const answer = await fetch(`${url}/api/jobs/export?archived=true`, { headers });
  if (answer.status !== 200 || answer.body === null) throw new Error(`the export answered ${answer.status}`);
  let rest = '';
  for await (const text of answer.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield JSON.parse(line) as WireJob;
  }
  if (rest !== '') throw new Error('the export broke off in the middle of a line');
}
