import { Agent, request } from 'node:http';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WireJob, WireJobList } from '../../src/domain/wire/job.ts';
import { apiKey } from '../support/processes.ts';
import { codeOf } from './attacker.ts';
import { honestTag } from './names.ts';

const answerMsMax = 30_000;
const againMs = 250;
const connections = 8;
const pageRows = 500;
const settledMsMax = 120_000;
const pollMs = 500;
const examplesMax = 10;

/** How a phase was for the honest client. */
export interface Phase {
  /** From the moment a job was due to its acknowledgement, refusals and new attempts included. */
  dispatchMs: number[];
  /** Answers other than an acknowledgement, by what they were. */
  refusals: Record<string, number>;
}

/** What became of the honest jobs. */
export interface Accounts {
  acknowledged: number;
  /** Acknowledged, and not there. */
  lost: number;
  /** There more than once. */
  twice: number;
  /** Not completed, or completed by more than one attempt. */
  wrong: number;
  /** With an output that no honest worker has made. */
  forged: number;
  /** From the creation to the end, by the coordinator's clock, ms. */
  doneMs: number[];
  examples: string[];
}

/** A client that sends its jobs at a steady pace, each until it is acknowledged, and the books of what it was promised. */
export class HonestClient {
  readonly #url: string;
  readonly #key: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: connections });
  readonly #ids: string[] = [];
  #sent = 0;

  constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
  }

  destroy(): void {
    this.#agent.destroy();
  }

  /** So many a second for so long; resolves when all are acknowledged, or have not been for minutes. */
  async send(perSecond: number, ms: number): Promise<Phase> {
    const phase: Phase = { dispatchMs: [], refusals: {} };
    const startedAt = performance.now();
    const jobs = Math.round((perSecond * ms) / 1000);
    const under: Promise<void>[] = [];
    for (let count = 0; count < jobs; count++) {
      const dueAt = startedAt + (count * 1000) / perSecond;
      await sleep(Math.max(0, dueAt - performance.now()));
      under.push(this.#dispatch(this.#sent++, dueAt, startedAt + ms + settledMsMax, phase));
    }
    await Promise.all(under);
    return phase;
  }

  async #dispatch(number: number, dueAt: number, untilAt: number, phase: Phase): Promise<void> {
    while (performance.now() < untilAt) {
      const outcome = await this.#post(number).catch(codeOf);
      if (typeof outcome === 'object') {
        this.#ids[number] = outcome.id;
        phase.dispatchMs.push(performance.now() - dueAt);
        return;
      }
      phase.refusals[outcome] = (phase.refusals[outcome] ?? 0) + 1;
      await sleep(againMs);
    }
  }

  /** @returns the job, or what else the answer was. */
  #post(number: number): Promise<{ id: string } | string> {
    const body = JSON.stringify({
      provider: 'echo',
      prompt: `an honest prompt, number ${number}`,
      tags: [honestTag],
      metadata: { number: String(number) },
      params: { echo_output: outputOf(number) },
    });
    const headers = {
      authorization: `Bearer ${this.#key}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'idempotency-key': `honest-${number}`,
    };
    return new Promise((resolve, reject) => {
      const sent = request(
        `${this.#url}/api/jobs`,
        { method: 'POST', headers, agent: this.#agent },
        (answer) => {
          let text = '';
          answer.setEncoding('utf8');
          answer.on('data', (chunk: string) => (text += chunk));
          answer.on('error', reject);
          answer.on('end', () => {
            if (answer.statusCode === 201 || answer.statusCode === 200) resolve(JSON.parse(text) as WireJob);
            else resolve(`${answer.statusCode} ${/"code":"([a-z_]+)"/.exec(text)?.[1] ?? ''}`);
          });
        },
      );
      sent.setTimeout(answerMsMax, () => sent.destroy(new Error(`no answer in ${answerMsMax / 1000} s`)));
      sent.on('error', reject);
      sent.end(body);
    });
  }

  /** Wait until every honest job has ended, and hold what is there against what was acknowledged. */
  async settle(): Promise<Accounts> {
    const acknowledged = this.#ids.filter((id) => id !== undefined).length;
    const accounts: Accounts = {
      acknowledged,
      lost: 0,
      twice: 0,
      wrong: 0,
      forged: 0,
      doneMs: [],
      examples: [],
    };
    const endsAt = performance.now() + settledMsMax;
    while (performance.now() < endsAt && (await this.#open()) > 0) await sleep(pollMs);
    const fault = (count: 'lost' | 'twice' | 'wrong' | 'forged', what: string) => {
      accounts[count] += 1;
      if (accounts.examples.length < examplesMax) accounts.examples.push(what);
    };
    const seen = new Set<number>();
    for await (const job of this.#all()) {
      const number = Number(job.metadata.number);
      if (seen.has(number)) fault('twice', `job ${number} is there twice`);
      seen.add(number);
      const completed = job.attempts.filter(({ outcome }) => outcome === 'completed').length;
      if (job.status !== 'completed' || completed !== 1)
        fault(
          'wrong',
          `job ${number} is ${job.status} (${job.error?.message ?? `${completed} attempts completed it`})`,
        );
      else if (job.result?.output !== outputOf(number))
        fault('forged', `job ${number} has the output of somebody else`);
      if (job.finished_at !== null)
        accounts.doneMs.push(Date.parse(job.finished_at) - Date.parse(job.created_at));
    }
    for (const [number, id] of this.#ids.entries())
      if (id !== undefined && !seen.has(number)) fault('lost', `job ${number}, ${id}, is lost`);
    return accounts;
  }

  /** Honest jobs that have not ended. */
  async #open(): Promise<number> {
    return (await this.#list('status=pending,running&limit=1')).total;
  }

  async *#all(): AsyncGenerator<WireJob> {
    for (let offset = 0; ; ) {
      const { jobs } = await this.#list(`include=result&limit=${pageRows}&offset=${offset}`);
      yield* jobs;
      offset += jobs.length;
      if (jobs.length === 0) return;
    }
  }

  async #list(query: string): Promise<WireJobList> {
    const headers = { authorization: `Bearer ${apiKey}` };
    for (let count = 1; ; count++) {
      try {
        const answer = await fetch(`${this.#url}/api/jobs?tag=${honestTag}&${query}`, {
          headers,
          signal: AbortSignal.timeout(answerMsMax),
        });
        if (!answer.ok) throw new Error(`the list answered ${answer.status}: ${await answer.text()}`);
        return (await answer.json()) as WireJobList;
      } catch (error) {
        if (count >= 10) throw error;
        await sleep(2_000);
      }
    }
  }
}

function outputOf(number: number): string {
  return `answer ${number}`;
}
