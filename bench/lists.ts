import { performance } from 'node:perf_hooks';
import type { HttpClient } from './support/httpClient.ts';
import { served } from './support/jobs.ts';
import { connect, getText } from './support/load.ts';
import { type ServerProcess, seedFolder, startCoordinator } from './support/processes.ts';
import { quietRounds } from './support/quiet.ts';
import { type Bench, type Figure, figureOf, type Scenario } from './support/scenario.ts';
import { median } from './support/statistics.ts';

const ratioMax = 3;
const fewJobs = 1_000;
const promptBytes = 300;

/** What a dashboard asks for again and again. */
const questions = [
  { name: 'GET /api/jobs?limit=50', path: '/api/jobs?limit=50' },
  { name: '  of one status', path: '/api/jobs?limit=50&status=completed' },
  { name: '  of one status and provider', path: `/api/jobs?limit=50&status=pending&provider=${served}` },
  { name: 'GET /api/cost/summary', path: '/api/cost/summary?period=month' },
  { name: 'GET /api/cost/breakdown', path: '/api/cost/breakdown?period=month' },
] as const;

interface Case {
  coordinator: ServerProcess;
  client: HttpClient;
}

/** Whether a list and a report cost more when very many jobs are stored. */
export const lists: Scenario = {
  name: 'lists',
  about: 'list of 50 jobs and cost reports with 100,000 stored jobs, against 1,000',
  async run(bench) {
    const manyJobs = bench.quick ? 10_000 : 100_000;
    const requests = bench.quick ? 20 : 100;
    const few = await open(bench, fewJobs);
    const many = await open(bench, manyJobs);
    const turn = async (): Promise<{ few: number[]; many: number[]; cpuMs: number }> => {
      await Promise.all([few.coordinator.measure(), many.coordinator.measure()]);
      const times: { few: number[]; many: number[] } = { few: [], many: [] };
      for (const { path } of questions) {
        times.few.push(await timeOf(few.client, path, requests));
        times.many.push(await timeOf(many.client, path, requests));
      }
      const spent = await Promise.all([few.coordinator.report(), many.coordinator.report()]);
      return { ...times, cpuMs: spent.reduce((sum, { cpuMs }) => sum + cpuMs, 0) };
    };
    await turn();
    const kept = await quietRounds(bench, bench.quick ? 2 : 7, async () => {
      const measured = await turn();
      return { measured, cpuMs: measured.cpuMs };
    });
    return questions.flatMap(({ name }, index): Figure[] => {
      const value = median(kept.map((round) => round.many[index] ?? Number.NaN));
      const peer = median(kept.map((round) => round.few[index] ?? Number.NaN));
      return [
        {
          name: `${name}, ${manyJobs} jobs`,
          value,
          unit: 'ms',
          ratio: value / peer,
          against: `${fewJobs} jobs`,
          target: { of: 'ratio', is: 'at most', bound: ratioMax },
        },
        figureOf(`  with ${fewJobs}`, peer, 'ms'),
      ];
    });
  },
};

/** A tenth of the jobs waits, the others have run and cost something. */
async function open(bench: Bench, jobs: number): Promise<Case> {
  const pending = { [served]: jobs / 10 };
  const dataDir = await seedFolder(bench, { completed: jobs - jobs / 10, pending, promptBytes });
  const coordinator = await startCoordinator(bench, dataDir);
  const client = connect(coordinator.url);
  bench.defer(() => client.destroy());
  return { coordinator, client };
}

/** Median time of an answer, asked for one after the other, ms. */
async function timeOf(client: HttpClient, path: string, requests: number): Promise<number> {
  const times: number[] = [];
  for (let sent = 0; sent < requests; sent++) {
    const sentAt = performance.now();
    await getText(client, path, 200);
    times.push(performance.now() - sentAt);
  }
  return median(times);
}
