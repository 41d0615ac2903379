import { join } from 'node:path';
import { audit } from './audit.ts';
import { checkLicences } from './licences.ts';

/** `npm run dependencies`: licences of what users install, and its known faults where the registry tells them. */
const root = join(import.meta.dirname, '../..');
const licences = checkLicences(root);
console.log(
  `Licences: ${licences.count} packages that users install, ${licences.faults.length} not permissive`,
);
for (const fault of licences.faults) console.error(`  ${fault}`);

const audited = audit(root);
if (audited.kind === 'unreachable') {
  console.log(`Audit: not done (${audited.why}); nothing is known of faults in the dependencies`);
} else {
  console.log(
    `Audit: ${audited.told.length} known faults, ${audited.faults.length} of them high or critical`,
  );
  for (const line of audited.told) console.log(`  ${line}`);
}
if (licences.faults.length > 0 || (audited.kind === 'done' && audited.faults.length > 0))
  process.exitCode = 1;
