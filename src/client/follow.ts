import { timerMsMax } from '../domain/clock.ts';
import type { JobOutput, JobProgress, JobSnapshot } from '../domain/liveProtocol.ts';
import type { WireJob } from '../domain/wire/job.ts';
import { WaitTimedOut } from './errors.ts';
import { Outage } from './outage.ts';
import { pause } from './pause.ts';
import type { StreamEvent } from './request.ts';
import { hasEnded, type WaitOptions } from './wait.ts';

/** A piece of the running attempt's output. It is a preview: only the result is the job's answer. */
export interface OutputPart {
  text: string;
  /** Discard the text before it: it is from another attempt, or from the same one after an unknown gap. */
  isAnew: boolean;
}

export interface FollowOptions extends WaitOptions {
  /** Called with the job at once, and at each change of its state, in the form of lists: without its result. */
  onUpdate?: ((job: WireJob) => void) | undefined;
  onOutput?: ((part: OutputPart) => void) | undefined;
}

/** How to follow a job. */
export interface FollowPorts {
  /** The events of the job after the one with this id; null: from now on. */
  events: (lastEventId: string | null, signal: AbortSignal | undefined) => AsyncIterable<StreamEvent>;
  job: (signal: AbortSignal | undefined) => Promise<WireJob>;
}

/** Between two streams, when one has ended but the job has not, ms. */
const reconnectMs = 1_000;

/**
 * Follow a job until it has ended. An interrupted stream is resumed.
 * @returns the whole job. @throws as `waitForEnd`.
 */
export async function followToEnd(
  jobId: string,
  { events, job: askJob }: FollowPorts,
  { timeoutSeconds, onUpdate, onOutput, signal: stop, isKnown = false }: FollowOptions,
): Promise<WireJob> {
  const late = new AbortController();
  const timer =
    timeoutSeconds === undefined
      ? undefined
      : setTimeout(() => late.abort(), Math.min(timeoutSeconds * 1000, timerMsMax));
  const signal = stop === undefined ? late.signal : AbortSignal.any([stop, late.signal]);
  const output = new Output((part) => onOutput?.(part));
  let lastEventId: string | null = null;
  const outage = new Outage(isKnown);
  const hear = async (): Promise<void> => {
    for await (const { id, data } of events(lastEventId, signal)) {
      outage.answered();
      lastEventId = id ?? lastEventId;
      const job = take(data as Frame, output);
      if (job !== null) onUpdate?.(job);
    }
  };
  try {
    for (;;) {
      let pauseMs = reconnectMs;
      const passOver = (error: unknown): null => {
        pauseMs = outage.pauseAfter(error);
        return null;
      };
      await hear().catch(passOver);
      const job = await askJob(signal).catch(passOver);
      if (job !== null) outage.answered();
      if (job !== null && hasEnded(job)) return job;
      await pause(pauseMs, signal);
    }
  } catch (error) {
    stop?.throwIfAborted();
    if (late.signal.aborted) throw new WaitTimedOut(jobId, timeoutSeconds ?? 0);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** The frames of a job's stream; see docs/live-events.md. */
type Frame =
  | { type: 'hello' }
  | { type: 'snapshot'; data: JobSnapshot }
  | { type: 'job.progress'; data: JobProgress }
  | { type: `job.${string}`; data: WireJob };

/** @returns the job when the frame contains it. */
function take(frame: Frame, output: Output): WireJob | null {
  if (isProgress(frame)) {
    output.more(frame.data);
    return null;
  }
  if (frame.type === 'snapshot') {
    if (frame.data.output !== null) output.all(frame.data.output);
    return frame.data.job;
  }
  return frame.type === 'hello' ? null : frame.data;
}

function isProgress(frame: Frame): frame is Extract<Frame, { type: 'job.progress' }> {
  return frame.type === 'job.progress';
}

/** The output of the newest attempt, and which part of it was passed on. */
class Output {
  readonly #tell: (part: OutputPart) => void;
  #lease = 0;
  #seq = 0;
  #text = '';

  constructor(tell: (part: OutputPart) => void) {
    this.#tell = tell;
  }

  /** One more chunk. Duplicates and chunks of earlier attempts are skipped. */
  more({ lease, seq, text }: JobProgress): void {
    if (this.#isKnown(lease, seq)) return;
    const isAnew = lease !== this.#lease;
    this.#pass(text, isAnew);
    this.#set(lease, seq, isAnew ? text : this.#text + text);
  }

  /** All output of the attempt. */
  all({ lease, seq, text, truncated }: JobOutput): void {
    if (this.#isKnown(lease, seq)) return;
    const isAnew = lease !== this.#lease || truncated || !text.startsWith(this.#text);
    const added = isAnew ? text : text.slice(this.#text.length);
    this.#pass(added, isAnew);
    this.#set(lease, seq, text);
  }

  /** A chunk of reasoning or of a tool call has no text; it is passed on only when it voids what was. */
  #pass(text: string, isAnew: boolean): void {
    if (text !== '' || (isAnew && this.#text !== '')) this.#tell({ text, isAnew });
  }

  #isKnown(lease: number, seq: number): boolean {
    return lease < this.#lease || (lease === this.#lease && seq <= this.#seq);
  }

  #set(lease: number, seq: number, text: string): void {
    this.#lease = lease;
    this.#seq = seq;
    this.#text = text;
  }
}
