import test from 'ava';
import type { RoutingRule } from '../../src/config/config.ts';
import type { JobRequest } from '../../src/domain/job.ts';
import { planRoute } from '../../src/routing/router.ts';
import { testConfig } from '../support/config.ts';
import { request } from '../support/coordinator.ts';

function plan(
  job: Partial<JobRequest>,
  rules: RoutingRule[] = [],
  strategy: 'direct' | 'fallback' = 'fallback',
) {
  const routing = { strategy, chain: ['first', 'second'], rules, fallbackOnTimeout: true };
  const found = planRoute(request({ provider: null, ...job }), testConfig({ routing }));
  return found && { strategy: found.strategy, rule: found.rule, targets: found.candidates };
}

const target = (provider: string, fields = {}) => ({
  provider,
  model: null,
  worker: null,
  workerTag: null,
  ...fields,
});

test('a job that names its provider runs there and nowhere else', (t) => {
  t.deepEqual(plan({ provider: 'mine' }), { strategy: 'direct', rule: null, targets: [target('mine')] });
  const away: RoutingRule = { match: {}, provider: 'other' };
  const chain: RoutingRule = { match: {}, chain: ['other'] };
  const narrow: RoutingRule = { match: {}, worker: 'vault', model: 'm' };
  t.deepEqual(plan({ provider: 'mine' }, [away, chain, narrow]), {
    strategy: 'direct',
    rule: 2,
    targets: [target('mine', { worker: 'vault', model: 'm' })],
  });
});

test('a job that names none, or auto, takes the chain of the strategy', (t) => {
  const whole = { strategy: 'fallback', rule: null, targets: [target('first'), target('second')] };
  t.deepEqual(plan({}), whole);
  t.deepEqual(plan({ provider: 'auto' }), whole);
});

test('direct takes the default provider; with none there is no plan', (t) => {
  t.is(plan({}, [], 'direct'), null);
  const config = testConfig({ jobs: { defaultProvider: 'usual' } });
  t.deepEqual(planRoute(request({ provider: null }), config)?.candidates, [target('usual')]);
});

test('the first rule that matches wins; tags means all of them, any_tags one', (t) => {
  const rules: RoutingRule[] = [
    { match: { tags: ['a', 'b'] }, provider: 'all' },
    { match: { anyTags: ['a', 'c'] }, provider: 'any' },
    { match: { tier: 'gold', priority: 'high' }, provider: 'gold' },
    { match: { model: 'big' }, provider: 'big', model: 'bigger' },
  ];
  const provider = (job: Partial<JobRequest>) => plan(job, rules)?.targets[0].provider;
  t.is(provider({ tags: ['b', 'a', 'x'] }), 'all');
  t.is(provider({ tags: ['a'] }), 'any');
  t.is(provider({ tags: ['b'] }), 'first');
  t.is(provider({ tier: 'gold' }), 'first');
  t.is(provider({ tier: 'gold', priority: 'high' }), 'gold');
  t.is(plan({ model: 'big' }, rules)?.targets[0].model, 'bigger');
});

test('a rule gives a model to jobs that name none, and replaces the one it matches on', (t) => {
  const rules: RoutingRule[] = [{ match: { tags: ['small'] }, model: 'tiny' }];
  t.is(plan({ tags: ['small'] }, rules)?.targets[0].model, 'tiny');
  t.is(plan({ tags: ['small'], model: 'mine' }, rules)?.targets[0].model, 'mine');
});

test('a rule may narrow every member of the chain to a worker tag', (t) => {
  const rules: RoutingRule[] = [{ match: { tags: ['eu'] }, workerTag: 'eu' }];
  t.deepEqual(plan({ tags: ['eu'] }, rules)?.targets, [
    target('first', { workerTag: 'eu' }),
    target('second', { workerTag: 'eu' }),
  ]);
});

test('a rule’s chain under direct is a fallback', (t) => {
  t.like(plan({}, [{ match: {}, chain: ['x', 'y'] }], 'direct'), { strategy: 'fallback', rule: 0 });
});
