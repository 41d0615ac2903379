#!/usr/bin/env node
import module from 'node:module';
import { isNodeTooOld } from './lib/nodeVersion.ts';

if (isNodeTooOld()) {
  const { runOnOtherNode } = await import('./lib/otherNode.ts');
  process.exitCode = await runOnOtherNode(process.argv.slice(1));
} else {
  // Stripping the types of every module takes most of a short command's time; the cache brings `--help` from some 0.9 s to
  // 0.3 s. It must be on before the modules are loaded, hence the import below.
  module.enableCompileCache();
  const { main } = await import('./commands/main.ts');
  process.exitCode = await main(process.argv.slice(2));
}
