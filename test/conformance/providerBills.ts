import { createPricing } from '../../src/cost/pricing.ts';
import { usageFromWire } from '../../src/domain/usage.ts';
import { systemClock } from '../../src/lib/systemClock.ts';
import { whole } from '../fixtures/providers/answers.ts';
import { testConfig } from '../support/config.ts';
import { begin, resultOf } from './providerRun.ts';
import { setupWire, turnOf, type WireSubject, type WireTest } from './providerWire.ts';

/** The day of the prices that the bills are reckoned with. */
const at = Date.UTC(2026, 10, 20);

/** From the provider's own words to money, against sums that were made by hand. */
export function testBills(subject: WireSubject, test: WireTest): void {
  const { dialect } = subject;
  const pricing = createPricing(() => testConfig(), systemClock);

  for (const { title, model, raw, usage, nanoDollars } of dialect.bills) {
    test(`is billed right: ${title}`, async (t) => {
      const turn = turnOf(subject, { model, usage: raw });
      const { provider, job } = await setupWire(t, subject, whole(dialect, turn));
      const result = resultOf(await begin(provider, { ...job, model }).outcome);
      t.like(result.usage, usage);
      t.like(result.raw_usage, raw);
      const { input_tokens: input = 0, output_tokens: output = 0, total_tokens: total } = result.usage;
      if (total !== undefined) t.is(total, input + output, 'nothing is counted twice');
      const spent = {
        provider: provider.name,
        model,
        reportedModel: result.model,
        usage: usageFromWire(result.usage),
        at,
      };
      t.deepEqual(pricing.costOf(spent), { nanoDollars: nanoDollars ?? 0, status: 'known' });
    });
  }
}
