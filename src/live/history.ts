import { jobOfTopic } from '../domain/liveProtocol.ts';
import type { Feed } from './feed.ts';
import type { NumberedEvent } from './numberedEvent.ts';
import type { Outputs } from './outputs.ts';

/** Topics whose events the feed does not keep. */
const unkeptTopics: ReadonlySet<string> = new Set(['machines', 'inspect', 'stats', 'runs']);

/** What can be sent again for each topic: events of the feed, and the output of running jobs. */
export class History {
  readonly #feed: Feed;
  readonly #outputs: Outputs;

  constructor(feed: Feed, outputs: Outputs) {
    this.#feed = feed;
    this.#outputs = outputs;
  }

  /**
   * Whether everything that happened to a topic after `seq` can be sent again.
   * @param isWhole whether no unkept event can be missing: nothing was numbered since `seq`.
   */
  covers(topic: string, seq: number, isWhole: boolean): boolean {
    // Transitions and inspected events are too many to be kept, and of figures and runs only the newest matter.
    if (unkeptTopics.has(topic)) return isWhole;
    const jobId = jobOfTopic(topic);
    return this.#feed.covers(seq) && (jobId === null || this.#outputs.covers(jobId, seq));
  }

  /** What happened to each topic after its number, oldest first, each event once. */
  after(positions: ReadonlyMap<string, number>): NumberedEvent[] {
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

  /** The newest kept event of each job after `seq`, oldest first. */
  newestOfJobs(topics: ReadonlySet<string>, seq: number): NumberedEvent[] {
    const newest = new Map<string, NumberedEvent>();
    for (const entry of this.#feed.after(seq)) {
      if (entry.jobId === null || !entry.topics.some((topic) => topics.has(topic))) continue;
      newest.delete(entry.jobId);
      newest.set(entry.jobId, entry);
    }
    return [...newest.values()];
  }
}
