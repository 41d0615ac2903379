import test, { type ExecutionContext } from 'ava';
import type { Assignment } from '../../src/domain/workerProtocol.ts';
import type { Provider } from '../../src/worker/provider.ts';
import { whole } from '../fixtures/providers/answers.ts';
import type { Dialect, Turn } from '../fixtures/providers/dialect.ts';
import { type Answer, FakeServer } from '../fixtures/providers/server.ts';
import { testAborts } from './providerAborts.ts';
import { testAnswers } from './providerAnswers.ts';
import { testBills } from './providerBills.ts';
import { testBrokenAnswers } from './providerBroken.ts';
import { testRefusals } from './providerRefusals.ts';
import { testRequests } from './providerRequests.ts';

/** Milliseconds; the names of src/worker/providers/http/timeoutWatch.ts. */
export interface Patience {
  connectMs: number;
  firstMs: number;
  idleMs: number;
  totalMs: number;
}

/** One adapter and how its provider speaks: what the suite needs to know of it. */
export interface WireSubject {
  /** For the titles. */
  name: string;
  dialect: Dialect;
  /** A name that the provider would take. */
  model: string;
  /** null: the adapter sends none. */
  apiKey: string | null;
  /** The header that the key travels in, and what stands before it; null: none. */
  keyHeader: { name: string; prefix: string } | null;
  /** The adapter on a server. @param origin scheme, host and port. */
  make(origin: string, options?: { timeouts?: Partial<Patience>; apiKey?: string | null }): Provider;
  /** What params must become in the body. Each is asserted to be part of it. */
  params: {
    title: string;
    params: Record<string, unknown>;
    /** Other than the subject's own. */
    model?: string;
    body: Record<string, unknown>;
  }[];
  /** What must be somewhere in the body when the job has messages, a picture, a schema or a tool. */
  messages: { system: string; hasImages: boolean };
  /** A word in the body that says that the schema is there. */
  takesTools: boolean;
  takesSchema: boolean;
  /** Whether its model streams what it thinks. */
  showsThinking: boolean;
}

/** One test's server and adapter. */
export interface WireBundle {
  subject: WireSubject;
  dialect: Dialect;
  server: FakeServer;
  provider: Provider;
  turn: Turn;
  /** Of this subject; `model` is already set. */
  job: Partial<Assignment>;
}

/** Characters of one, two, three and four bytes, which the servers cut where it hurts. */
const words = ['The sky', ' is', ' blau', ' – größer', ' 👍', ' \u2028 ok.'];

/** The turn that a server answers with unless a test says otherwise. */
export function turnOf({ model }: WireSubject, more: Partial<Turn> = {}): Turn {
  return { model, text: words, ...more };
}

/** A server of its own for one test, closed when it ends; faults of the fixtures fail the test. */
export async function serve(t: ExecutionContext, answer: Answer): Promise<FakeServer> {
  const server = await FakeServer.listen(answer);
  t.teardown(async () => {
    await server.close();
    for (const fault of server.faults) throw fault;
  });
  return server;
}

/** @param answer default: a whole answer. */
export async function setupWire(
  t: ExecutionContext,
  subject: WireSubject,
  answer?: Answer,
): Promise<WireBundle> {
  const { dialect, model } = subject;
  const turn = turnOf(subject);
  const server = await serve(t, answer ?? whole(dialect, turn));
  return { subject, dialect, server, provider: subject.make(server.url), turn, job: { model } };
}

/** Far more than any of these takes on a busy machine; what hangs is named. */
const patienceMs = 60_000;

/** Declares a test of one subject, with its name in the title. */
export interface WireTest {
  (title: string, run: (t: ExecutionContext) => Promise<void>): void;
  /** With nothing beside it in the process: it looks at the time, or at memory. */
  alone(title: string, run: (t: ExecutionContext) => Promise<void>): void;
}

/**
 * Declare the tests that an adapter of a provider must pass against servers that speak as the provider does: what it asks,
 * what it makes of answers, of refusals, of broken answers and of aborts, and what it says was used.
 */
export function testWire(subject: WireSubject): void {
  const timed = (run: (t: ExecutionContext) => Promise<void>) => (t: ExecutionContext) => {
    t.timeout(patienceMs);
    return run(t);
  };
  const declare: WireTest = Object.assign(
    (title: string, run: (t: ExecutionContext) => Promise<void>) =>
      test(`${subject.name}: ${title}`, timed(run)),
    {
      alone: (title: string, run: (t: ExecutionContext) => Promise<void>) =>
        test.serial(`${subject.name}: ${title}`, timed(run)),
    },
  );
  testRequests(subject, declare);
  testAnswers(subject, declare);
  testRefusals(subject, declare);
  testBrokenAnswers(subject, declare);
  testAborts(subject, declare);
  testBills(subject, declare);
}
