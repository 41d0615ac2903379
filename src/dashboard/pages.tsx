import type { JSX } from 'preact';
import type { Role } from '../domain/key.ts';
import type { IconName } from './components/icons.tsx';
import { latePage } from './latePage.tsx';
import { Audit } from './pages/audit/audit.tsx';
import { Connect } from './pages/connect/connect.tsx';
import { Cost } from './pages/cost/cost.tsx';
import { Job } from './pages/job/job.tsx';
import { Jobs } from './pages/jobs/jobs.tsx';
import { Keys } from './pages/keys/keys.tsx';
import { NewJob } from './pages/newJob/newJob.tsx';
import { Overview } from './pages/overview/overview.tsx';
import { Providers } from './pages/providers/providers.tsx';
import { Run } from './pages/runs/run.tsx';
import { Runs } from './pages/runs/runs.tsx';
import { Worker } from './pages/workers/worker.tsx';
import { Workers } from './pages/workers/workers.tsx';

/** A page of the dashboard. */
export interface PageEntry {
  /** `/jobs/:id`. */
  pattern: string;
  title: string;
  view: (props: { params: Record<string, string> }) => JSX.Element;
  /** Its place in the navigation; absent for pages that are reached from others. */
  nav?: { icon: IconName /** `g` followed by this key opens it. */; key: string };
  /** The role it needs; none by default. */
  needs?: Role;
}

const Machines = latePage('Machines', async () => (await import('./pages/machines/machines.tsx')).Machines);
const Webhooks = latePage('Webhooks', async () => (await import('./pages/webhooks/webhooks.tsx')).Webhooks);
const Deliveries = latePage(
  'Deliveries',
  async () => (await import('./pages/webhooks/deliveries.tsx')).Deliveries,
);

/** Every page, in the order of the navigation. A new one is a line here. */
export const pages: readonly PageEntry[] = [
  { pattern: '/', title: 'Overview', view: Overview, nav: { icon: 'overview', key: 'o' } },
  { pattern: '/jobs', title: 'Jobs', view: Jobs, nav: { icon: 'jobs', key: 'j' } },
  { pattern: '/jobs/new', title: 'New job', view: NewJob },
  { pattern: '/jobs/:id', title: 'Job', view: Job },
  { pattern: '/runs', title: 'Runs', view: Runs, nav: { icon: 'runs', key: 'r' } },
  { pattern: '/runs/:name', title: 'Run', view: Run },
  { pattern: '/workers', title: 'Workers', view: Workers, nav: { icon: 'workers', key: 'w' } },
  { pattern: '/workers/:id', title: 'Worker', view: Worker },
  { pattern: '/providers', title: 'Providers', view: Providers, nav: { icon: 'providers', key: 'p' } },
  { pattern: '/cost', title: 'Cost', view: Cost, nav: { icon: 'cost', key: 'c' } },
  { pattern: '/machines', title: 'Machines', view: Machines, nav: { icon: 'machines', key: 'm' } },
  { pattern: '/machines/:name', title: 'Machines', view: Machines },
  { pattern: '/keys', title: 'Keys', view: Keys, nav: { icon: 'keys', key: 'k' }, needs: 'admin' },
  {
    pattern: '/webhooks',
    title: 'Webhooks',
    view: Webhooks,
    nav: { icon: 'webhooks', key: 'h' },
    needs: 'admin',
  },
  { pattern: '/webhooks/:name', title: 'Deliveries', view: Deliveries, needs: 'admin' },
  { pattern: '/audit', title: 'Audit', view: Audit, nav: { icon: 'audit', key: 'a' }, needs: 'admin' },
  { pattern: '/connect', title: 'Connect', view: Connect, nav: { icon: 'connect', key: 'n' } },
];
