import type { JSX } from 'preact';
import { type MachineName, machineNames } from '../../../domain/machine.ts';
import { innerStates, jobStatuses } from '../../../domain/states.ts';
import { Page } from '../../components/page.tsx';
import { Empty, Loading } from '../../components/states.tsx';
import { compact, plural } from '../../components/text.ts';
import { href } from '../../router.ts';
import { may } from '../../session.ts';
import type { Chart } from '../../statechart/chart.ts';
import { batchChart } from '../../statechart/charts/batch.ts';
import { healthChart } from '../../statechart/charts/health.ts';
import { jobChart } from '../../statechart/charts/job.ts';
import { leaseChart } from '../../statechart/charts/lease.ts';
import { providerChart } from '../../statechart/charts/provider.ts';
import { runChart } from '../../statechart/charts/run.ts';
import { supervisorChart } from '../../statechart/charts/supervisor.ts';
import { workerChart } from '../../statechart/charts/worker.ts';
import { Statechart } from '../../statechart/statechart.tsx';
import type { StateNote } from '../../statechart/stateNote.ts';
import { Changes } from './changes.tsx';
import { countsByPath } from './counts.ts';
import { Inspect } from './inspect.tsx';
import { useMachines } from './useMachines.ts';

interface Look {
  chart: Chart;
  /** In the tabs. */
  title: string;
  /** `1 job`, `2 jobs`; null where there is just one. */
  actor: string | null;
  /** The list of actors in a state; null where there is none. */
  hrefOf(path: string): string | null;
}

const looks: Record<MachineName, Look> = {
  job: {
    chart: jobChart,
    title: 'Job',
    actor: 'job',
    hrefOf: jobsIn,
  },
  lease: { chart: leaseChart, title: 'Lease', actor: 'lease', hrefOf: leasesIn },
  worker: { chart: workerChart, title: 'Worker', actor: 'worker', hrefOf: () => href('/workers') },
  health: { chart: healthChart, title: 'Health', actor: 'fault of a worker', hrefOf: () => href('/workers') },
  provider: { chart: providerChart, title: 'Provider', actor: 'provider', hrefOf: () => href('/providers') },
  batch: { chart: batchChart, title: 'Batch', actor: 'batch', hrefOf: () => href('/runs') },
  run: { chart: runChart, title: 'Run', actor: 'run', hrefOf: (state) => href('/runs', { status: state }) },
  supervisor: { chart: supervisorChart, title: 'Coordinator', actor: null, hrefOf: () => null },
};

/** The jobs in a state; null for a transient one, in which no job rests. */
function jobsIn(state: string): string | null {
  if (jobStatuses.some((status) => status === state)) return href('/jobs', { status: state });
  return innerStates.some((inner) => inner === state) ? href('/jobs', { state }) : null;
}

/** The jobs of leases that run; the others are for moments. */
function leasesIn(phase: string): string | null {
  return phase === 'running' ? jobsIn(phase) : null;
}

/** Every machine, drawn from its own definition, with the number of actors in each state. */
export function Machines({ params }: { params: Record<string, string> }): JSX.Element {
  const machines = useMachines();
  const name = params.name === undefined ? 'job' : machineNames.find((known) => known === params.name);
  if (name === undefined) {
    return (
      <Page title="Machines">
        <Empty title={`There is no machine ${params.name}.`}>
          <a href={href('/machines')}>See the machine of jobs</a>
        </Empty>
      </Page>
    );
  }
  const { counts, changes } = machines.value;
  const { chart, actor, hrefOf } = looks[name];
  const byPath = counts === null ? null : countsByPath(counts, name);
  const current = actor === null && counts !== null ? statesOf(counts[name]) : [];
  const ofThis = changes.filter(({ machine }) => machine === name);
  return (
    <Page title="Machines">
      <nav class="tabs" aria-label="Machines">
        {machineNames.map((one) => (
          <a key={one} href={href(`/machines/${one}`)} aria-current={one === name ? 'page' : undefined}>
            {looks[one].title}
          </a>
        ))}
      </nav>
      <div class="machine">
        <section class="card machine-card" aria-label={`${looks[name].title} machine`}>
          <p class="machine-about">
            {chart.description} {byPath === null || actor === null ? null : totalOf(byPath, actor)}
          </p>
          {byPath === null ? (
            <Loading lines={10} />
          ) : (
            <Statechart
              key={name}
              chart={chart}
              label={`States of the ${name} machine`}
              current={current}
              notes={actor === null ? new Map() : notesOf(byPath, chart, actor)}
              hrefOf={hrefOf}
            />
          )}
        </section>
        <Changes changes={ofThis} />
      </div>
      {may('admin') ? <Inspect key={name} machine={name} /> : null}
    </Page>
  );
}

/** Where the only actor of a machine is: a state of each region. */
function statesOf(counts: Record<string, number>): string[] {
  return Object.entries(counts).flatMap(([path, here]) => (here > 0 ? [path] : []));
}

function totalOf(byPath: ReadonlyMap<string, number>, actor: string): string {
  const total = [...byPath].reduce((sum, [path, here]) => (path.includes('.') ? sum : sum + here), 0);
  return `${plural(total, actor)} in all.`;
}

function notesOf(
  byPath: ReadonlyMap<string, number>,
  { states }: Chart,
  actor: string,
): ReadonlyMap<string, StateNote> {
  return new Map(
    states.flatMap(({ path, kind }): [string, StateNote][] => {
      const here = byPath.get(path);
      // No actor rests in a transient state.
      if (kind === 'transient' || here === undefined) return [];
      return [[path, { figures: compact(here), spoken: `${plural(here, actor)} now`, isUsed: here > 0 }]];
    }),
  );
}
