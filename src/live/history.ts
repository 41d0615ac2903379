import { jobOfTopic } from '../domain/liveProtocol.ts';
import type { Entry } from './entry.ts';
import type { Feed } from './feed.ts';
import type { Outputs } from './outputs.ts';

/** What can be told again of each topic: events of the feed, and the output of jobs that run. */
export class History {
  readonly #feed: Feed;
  readonly #outputs: Outputs;

  constructor(feed: Feed, outputs: Outputs) {
    this.#feed = feed;
    this.#outputs = outputs;
  }

  /**
   * Whether everything that happened to a topic after `seq` can be told.
   * @param isWhole whether nothing of what is never remembered can be missing: `seq` is of this very moment.
   */
  covers(topic: string, seq: number, isWhole: boolean): boolean {
    // Transitions and what is inspected are too many to be remembered, and of the figures only the newest count.
    if (topic === 'machines' || topic === 'inspect' || topic === 'stats') return isWhole;
    const jobId = jobOfTopic(topic);
    return this.#feed.covers(seq) && (jobId === null || this.#outputs.covers(jobId, seq));
  }

  /** What happened to each topic after its number, oldest first, each event once. */
  after(positions: ReadonlyMap<string, number>): Entry[] {
    if (positions.size === 0) return [];
    const entries = this.#feed
      .after(Math.min(...positions.values()))
      .filter(({ topics, seq }) => topics.some((topic) => seq > (positions.get(topic) ?? seq)));
    const chunks = [...positions].flatMap(([topic, seq]) => {
      const jobId = jobOfTopic(topic);
      return jobId === null ? [] : this.#outputs.after(jobId, seq);
    });
    return chunks.length === 0 ? entries : [...entries, ...chunks].sort((a, b) => a.seq - b.seq);
  }

  /** The newest event of each job after `seq`, of what is remembered, oldest first. */
  newestOfJobs(topics: ReadonlySet<string>, seq: number): Entry[] {
    const newest = new Map<string, Entry>();
    for (const entry of this.#feed.after(seq)) {
      if (entry.jobId === null || !entry.topics.some((topic) => topics.has(topic))) continue;
      newest.delete(entry.jobId);
      newest.set(entry.jobId, entry);
    }
    return [...newest.values()];
  }
}
