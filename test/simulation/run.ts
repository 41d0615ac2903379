import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Command, InvalidArgumentError } from 'commander';
import { simulate } from './world.ts';

interface Options {
  seed?: number;
  from: number;
  count: number;
  processes: number;
  seconds: number;
  trace?: true;
}

const help = `
Examples:
  npm run simulate -- --count 2000            the seeds 1 to 2000
  npm run simulate -- --count 2000 --processes 4
  npm run simulate -- --seed 1234             one seed, with the last lines of its history when it fails
  npm run simulate -- --seed 1234 --trace     all of its history

Exit codes: 0 every promise was kept in every run; 1 not so.`;

await new Command('simulate')
  .description(
    'Run whole coordinators with faulty disks, networks and workers in virtual time, and check every promise',
  )
  .option('--seed <number>', 'only this one', wholeNumber)
  .option('--from <number>', 'the first seed', wholeNumber, 1)
  .option('--count <number>', 'how many seeds', wholeNumber, 1000)
  .option('--processes <number>', 'among how many processes the seeds are divided', wholeNumber, 1)
  .option('--seconds <number>', 'begin no further seed after so long', wholeNumber, Number.MAX_SAFE_INTEGER)
  .option('--trace', 'show the whole history')
  .addHelpText('after', help)
  .action(run)
  .parseAsync();

async function run(options: Options): Promise<void> {
  const { from, count, processes, seconds } = options;
  if (options.seed !== undefined || processes <= 1) return runHere(options);
  const most = Math.ceil(count / processes);
  const ends = Array.from({ length: processes }, async (_, index): Promise<number | null> => {
    const first = from + index * most;
    const own = Math.min(most, from + count - first);
    if (own <= 0) return 0;
    const share = { from: first, count: own, seconds };
    const flags = Object.entries(share).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const child = fork(import.meta.filename, flags);
    const [code] = (await once(child, 'exit')) as [number | null];
    return code;
  });
  if ((await Promise.all(ends)).some((code) => code !== 0)) process.exitCode = 1;
}

/** Each process tells its own sums. */
async function runHere({ seed, from, count, seconds, trace }: Options): Promise<void> {
  const startedAt = performance.now();
  const failed: number[] = [];
  const sums = new Map<string, number>();
  const first = seed ?? from;
  const last = seed ?? from + count - 1;
  let next = first;
  for (; next <= last && performance.now() - startedAt < seconds * 1000; next += 1) {
    const {
      breaches,
      figures,
      hash,
      last: lines,
    } = await simulate(next, trace ? (line) => console.log(line) : null);
    for (const [name, figure] of Object.entries(figures)) sums.set(name, (sums.get(name) ?? 0) + figure);
    if (seed !== undefined) console.log(`seed ${seed}: history ${hash}`);
    if (breaches.length === 0) continue;
    failed.push(next);
    if (seed !== undefined && !trace) console.log(lines.join('\n'));
    console.log(`seed ${next}: ${breaches.slice(0, 5).join('\n  ')}`);
  }
  console.log([...sums].map(([name, sum]) => `${name} ${sum}`).join(', '));
  const tookSeconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(
    `${next - first} seeds in ${tookSeconds} s, ${failed.length} failed${failed.length > 0 ? `: ${failed.join(' ')}` : ''}`,
  );
  if (failed.length > 0) process.exitCode = 1;
}

function wholeNumber(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0)
    throw new InvalidArgumentError('It must be a whole number.');
  return number;
}
