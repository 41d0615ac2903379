import test from 'ava';
import {
  cliCommands,
  curlCommand,
  keyPlaceholder,
  providerGuides,
  workerCommand,
} from '../../src/dashboard/pages/connect/commands.ts';
import { revokeConsequence, rolePurposes } from '../../src/dashboard/pages/keys/keyTexts.ts';
import { roles } from '../../src/domain/key.ts';
import { providerNames } from '../../src/worker/providers/names.ts';

const url = 'https://svc.example/base';
const svc = 'npx @svc-jobs/svc';

test('there is a guide for every provider that a worker takes by itself', (t) => {
  t.deepEqual(providerGuides.map(({ name }) => name).sort(), providerNames().sort());
});

test('commands have the address, and a key only when it is asked for', (t) => {
  for (const guide of providerGuides) {
    const command = workerCommand(guide, { url, key: null, svc });
    t.true(command.includes(`--coordinator ${url}`) && command.includes(`--provider ${guide.name}`));
    t.true(command.startsWith(`SVC_API_KEY=${keyPlaceholder} `), command);
    t.true(workerCommand(guide, { url, key: 'a-key', svc }).startsWith('SVC_API_KEY=a-key '));
  }
  t.true(curlCommand(url, null).includes('Bearer $SVC_API_KEY'));
  t.true(curlCommand(url, 'a-key').includes('Bearer a-key'));
  t.false(cliCommands({ url, key: null, svc }).includes('a-key'));
});

test('every role says what it is for, and what a revocation does to whoever has it', (t) => {
  for (const role of roles) t.true(rolePurposes[role].length > 10);
  t.regex(revokeConsequence('worker', false), /running jobs fail/);
  t.regex(revokeConsequence('admin', false), /^Every request .* Its jobs continue/);
  t.regex(revokeConsequence('admin', true), /^It is the last admin key .* Its jobs continue/);
  t.regex(revokeConsequence('admin', false, true), /^It is the key in admin\.key of the data folder/);
});
