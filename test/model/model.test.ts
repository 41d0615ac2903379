import test from 'ava';
import fc from 'fast-check';
import { commands } from './commands.ts';
import { Model } from './model.ts';
import { Rig } from './rig.ts';

test('after any commands the queue, the leases and the ledger are where a plain model has them', async (t) => {
  const property = fc.asyncProperty(fc.commands(commands, { maxCommands: 60, size: 'max' }), async (some) => {
    const rig = new Rig();
    await rig.start();
    await fc.asyncModelRun(() => ({ model: new Model(), real: rig }), some);
    rig.stop();
  });
  await fc.assert(property, { numRuns: 150, includeErrorInReport: true });
  t.pass();
});
