import test, { type ExecutionContext } from 'ava';
import type { ErrorClass } from '../../src/domain/failure.ts';
import type { Assignment } from '../../src/domain/workerProtocol.ts';
import type { Provider } from '../../src/worker/provider.ts';
import { begin, resultOf } from './providerRun.ts';

/** What an adapter's test file gives: the adapter against a server of its own, and jobs that make it do things. */
export interface ProviderSubject {
  provider: Provider;
  /** A job that is answered in several pieces. */
  answered: Partial<Assignment>;
  /** Another one, with another answer: both run at once. */
  answeredOtherwise: Partial<Assignment>;
  /** A job that says something and then goes on until it is aborted. */
  endless: Partial<Assignment>;
  /** Jobs that fail, by the class that each must fail with. */
  failing: { job: Partial<Assignment>; class: ErrorClass; status?: number }[];
  /** Texts that must be in no error: keys. */
  secrets: string[];
  /** Runs that the other side still has open; after an abort it must go down to 0. Left out when there is no other side. */
  whenClosed?: () => Promise<void>;
}

/**
 * Declare the tests that every provider adapter must pass: the promises of the `Provider` port.
 * @param name how the adapter is called in the titles.
 * @param setup makes a fresh subject for one test and registers its teardown with `t.teardown`.
 */
export function testProvider(name: string, setup: (t: ExecutionContext) => Promise<ProviderSubject>): void {
  test(`${name}: has a name, a kind, and a list of models or none`, async (t) => {
    const { provider } = await setup(t);
    t.regex(provider.name, /^[a-z0-9][a-z0-9_.-]*$/);
    t.true(['cloud', 'local'].includes(provider.kind));
    const models = await provider.models();
    t.true(models === null || models.every((model) => typeof model === 'string' && model !== ''));
  });

  test(`${name}: answers, and the streamed pieces make up the output`, async (t) => {
    const { provider, answered } = await setup(t);
    const run = begin(provider, answered);
    const result = resultOf(await run.outcome);
    t.not(result.output, '');
    t.is(run.pieces.join(''), result.output);
    t.true(run.pieces.length > 1, 'the output comes in pieces');
    t.not(result.finish_reason, '');
    t.true(result.model === null || result.model !== '');
  });

  test(`${name}: tells its usage in whole tokens that add up`, async (t) => {
    const { provider, answered } = await setup(t);
    const { usage } = resultOf(await begin(provider, answered).outcome);
    const { input_tokens: input = -1, output_tokens: output = -1, total_tokens: total } = usage;
    for (const tokens of [input, output]) t.true(Number.isSafeInteger(tokens) && tokens >= 0);
    t.true(input > 0);
    if (total !== undefined) t.is(total, input + output);
    t.true((usage.cached_input_tokens ?? 0) <= input, 'cached tokens are part of the input');
    t.true((usage.reasoning_tokens ?? 0) <= output, 'reasoning is part of the output');
  });

  test(`${name}: runs at once without mixing`, async (t) => {
    const { provider, answered, answeredOtherwise } = await setup(t);
    const runs = [begin(provider, answered), begin(provider, answeredOtherwise), begin(provider, answered)];
    const outputs = await Promise.all(
      runs.map(async (run) => {
        const { output } = resultOf(await run.outcome);
        t.is(run.pieces.join(''), output);
        return output;
      }),
    );
    t.not(outputs[0], outputs[1]);
  });

  test(`${name}: an abort in the middle ends the run, closes it, and nothing is said after`, async (t) => {
    const { provider, endless, whenClosed } = await setup(t);
    const run = begin(provider, endless);
    await run.firstText;
    run.abort();
    const outcome = await run.outcome;
    t.false(outcome.ok);
    if (!outcome.ok && outcome.usage) t.true((outcome.usage.input_tokens ?? 0) >= 0);
    await whenClosed?.();
    const said = run.pieces.length;
    await new Promise((resolve) => setImmediate(resolve));
    t.is(run.pieces.length, said);
  });

  test(`${name}: a run that is aborted before it begins says nothing`, async (t) => {
    const { provider, endless } = await setup(t);
    const run = begin(provider, endless, { signal: AbortSignal.abort() });
    t.false((await run.outcome).ok);
    t.deepEqual(run.pieces, []);
  });

  test(`${name}: every failure has its class, and no secret in its words`, async (t) => {
    const { provider, failing, secrets } = await setup(t);
    for (const { job, class: expected, status } of failing) {
      const outcome = await begin(provider, job).outcome;
      if (outcome.ok) {
        t.fail(`expected ${expected}`);
        continue;
      }
      t.is(outcome.error.class, expected, outcome.error.message);
      t.not(outcome.error.message, '');
      if (status !== undefined) t.is(outcome.error.status, status);
      for (const secret of secrets) t.false(JSON.stringify(outcome).includes(secret));
    }
  });

  test(`${name}: a job that it cannot use fails as an outcome, not as a throw`, async (t) => {
    const { provider } = await setup(t);
    const outcome = await begin(provider, { prompt: null, messages: null }).outcome;
    t.false(outcome.ok);
    if (!outcome.ok) t.is(outcome.error.class, 'invalid_request');
  });

  test(`${name}: takes messages in place of a prompt`, async (t) => {
    const { provider, answered } = await setup(t);
    const messages = [
      { role: 'system', content: 'Be short.' },
      { role: 'user', content: 'Say something about the sea' },
    ];
    const outcome = await begin(provider, { ...answered, prompt: null, input: null, messages }).outcome;
    t.true(outcome.ok);
  });

  test(`${name}: its outcomes are plain JSON`, async (t) => {
    const { provider, answered, failing } = await setup(t);
    for (const job of [answered, ...failing.map((failure) => failure.job)]) {
      const outcome = await begin(provider, job).outcome;
      const plain: unknown = JSON.parse(JSON.stringify(outcome));
      t.deepEqual(plain, JSON.parse(JSON.stringify(plain)));
      t.is(typeof (plain as { ok: unknown }).ok, 'boolean');
    }
  });
}
