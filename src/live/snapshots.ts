import type { Coordinator } from '../coordinator/coordinator.ts';
import { nothingInspected } from '../coordinator/core/index.ts';
import { noFilter } from '../domain/jobFilter.ts';
import {
  type JobSnapshot,
  type JobsSnapshot,
  jobOfTopic,
  type LiveSnapshot,
  type Topic,
} from '../domain/liveProtocol.ts';
import { isTerminal } from '../domain/states.ts';
import { presentInspection } from '../present/inspection.ts';
import { presentListed } from '../present/job.ts';
import { presentProvider } from '../present/provider.ts';
import { presentQueue } from '../present/queue.ts';
import { presentStats } from '../present/stats.ts';
import { presentWorker } from '../present/worker.ts';
import { afterGap, type Message } from './encoding.ts';
import type { Feed } from './feed.ts';
import type { Outputs } from './outputs.ts';
import type { RunChanges } from './runChanges.ts';

/** Newest jobs in the snapshot of `jobs`. */
const latestMax = 50;

/** The state of a topic. It contains every event up to `seq`, and perhaps some later ones. */
export class Snapshot {
  readonly topic: Topic;
  readonly seq: number;
  /** For `job:<id>`: whether the job has ended. */
  readonly isEnded: boolean;
  readonly #data: unknown;
  #message: Message | null = null;

  constructor(topic: Topic, seq: number, data: unknown, isEnded = false) {
    this.topic = topic;
    this.seq = seq;
    this.isEnded = isEnded;
    this.#data = data;
  }

  /** @param isAfterGap whether it replaces events that were lost. */
  message(isAfterGap: boolean): Message {
    if (this.#message === null) {
      const { topic, seq } = this;
      const frame: LiveSnapshot = { type: 'snapshot', topic, seq, data: this.#data };
      this.#message = { type: 'snapshot', seq, json: JSON.stringify(frame) };
    }
    return isAfterGap ? afterGap(this.#message) : this.#message;
  }
}

/** Reads the state that a subscriber needs before the first event of a topic. */
export class Snapshots {
  readonly #coordinator: Coordinator;
  readonly #feed: Feed;
  readonly #outputs: Outputs;
  readonly #runChanges: RunChanges;
  /** The last ones, shared by all subscribers until the next event. */
  readonly #last = new Map<Topic, Promise<Snapshot>>();
  #lastSeq = 0;

  constructor(options: {
    coordinator: Coordinator;
    feed: Feed;
    outputs: Outputs;
    runChanges: RunChanges;
  }) {
    this.#coordinator = options.coordinator;
    this.#feed = options.feed;
    this.#outputs = options.outputs;
    this.#runChanges = options.runChanges;
  }

  /** @throws CoordinatorError job_not_found. */
  read(topic: Topic): Promise<Snapshot> {
    const { seq } = this.#feed;
    if (seq !== this.#lastSeq) this.#last.clear();
    this.#lastSeq = seq;
    const known = this.#last.get(topic);
    if (known !== undefined) return known;
    const read = this.#read(topic, seq);
    // Jobs are many, and it is rare that one has two viewers.
    if (topic !== 'jobs' && topic !== 'workers' && topic !== 'providers') return read;
    this.#last.set(topic, read);
    read.catch(() => this.#last.delete(topic));
    return read;
  }

  /** @throws CoordinatorError job_not_found when the job of a topic does not exist. Keeps no snapshot. */
  async assertKnown(topics: readonly Topic[]): Promise<void> {
    for (const topic of topics) {
      const jobId = jobOfTopic(topic);
      if (jobId !== null) await this.#coordinator.job(jobId);
    }
  }

  async #read(topic: Topic, seq: number): Promise<Snapshot> {
    const jobId = jobOfTopic(topic);
    if (jobId !== null) return this.#job(topic, seq, jobId);
    return new Snapshot(topic, seq, await this.#data(topic));
  }

  async #data(topic: Topic): Promise<unknown> {
    const coordinator = this.#coordinator;
    switch (topic) {
      case 'jobs':
        return this.#jobs();
      case 'runs':
        return this.#runChanges.snapshot();
      case 'workers':
        return (await coordinator.workers()).map(presentWorker);
      case 'providers':
        return coordinator.providers().map(presentProvider);
      case 'queue':
        return presentQueue(coordinator.queue);
      case 'machines':
        return coordinator.machineCounts();
      case 'inspect':
        return presentInspection(coordinator.inspector?.read() ?? nothingInspected);
      default:
        return presentStats(await coordinator.stats());
    }
  }

  async #jobs(): Promise<JobsSnapshot> {
    const coordinator = this.#coordinator;
    const { byStatus } = await coordinator.counts();
    const { jobs } = await coordinator.jobs({ ...noFilter, limit: latestMax, offset: 0 });
    const latest = jobs.map((job) => presentListed(coordinator.view(job)));
    return { counts: byStatus, latest };
  }

  async #job(topic: Topic, seq: number, id: string): Promise<Snapshot> {
    const view = await this.#coordinator.job(id);
    const data: JobSnapshot = { job: presentListed(view), output: this.#outputs.text(id) };
    return new Snapshot(topic, seq, data, isTerminal(view.job.state));
  }
}
