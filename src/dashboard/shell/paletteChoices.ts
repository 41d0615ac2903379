import type { Role } from '../../domain/key.ts';
import type { WireProvider } from '../../domain/wire/provider.ts';
import type { WireWorker } from '../../domain/wire/worker.ts';
import type { IconName } from '../components/icons.tsx';
import type { Theme } from './preferences.ts';

/** A choice of the palette: a place to go to, or an action. */
export interface Choice {
  id: string;
  icon: IconName;
  text: string;
  /** Its kind, shown beside its name. */
  kind: 'Page' | 'Worker' | 'Provider' | 'Action' | 'Job';
  /** A status to show. */
  status?: string;
  does: PaletteAction;
}

export type PaletteAction =
  | { go: string }
  | { pause: WireWorker }
  | { resume: WireWorker }
  | { reset: string }
  | { queue: 'pause' | 'resume' }
  | { theme: Theme }
  | { notify: boolean }
  | { show: 'help' }
  | { sign: 'out' };

/** The data for the choices. */
export interface Known {
  pages: readonly { title: string; pattern: string; icon: IconName }[];
  workers: readonly WireWorker[];
  /** `isHeldUp`: whether a reset changes anything. */
  providers: readonly (Pick<WireProvider, 'name' | 'status'> & { isHeldUp: boolean })[];
  jobs: readonly { id: string; status: string; title: string }[];
  isQueuePaused: boolean;
  isNotifying: boolean;
  may(role: Role): boolean;
}

/** Choices of one kind: a fleet may have thousands of workers. */
const kindMax = 6;
const themes: Record<Theme, string> = {
  light: 'Use light colours',
  dark: 'Use dark colours',
  system: 'Use the colours of the system',
};

/** What matches the words, in any order: pages, workers, providers, actions, and the jobs that were found. */
export function choicesOf(query: string, known: Known): Choice[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = ({ text, kind }: Choice): boolean => {
    const all = `${text} ${kind}`.toLowerCase();
    return words.every((word) => all.includes(word));
  };
  const few = (choices: Choice[]): Choice[] => choices.filter(fits).slice(0, kindMax);
  const pages = ofPages(known).filter(fits);
  const own = few(ownActions(known));
  // Without a word the whole fleet would match.
  if (words.length === 0) return [...pages, ...own];
  return [
    ...pages,
    ...few(ofWorkers(known)),
    ...few(ofProviders(known)),
    ...own,
    ...few(fleetActions(known)),
    ...known.jobs.map(ofJob),
  ];
}

function ofPages({ pages }: Known): Choice[] {
  return pages.map(({ title, pattern, icon }) => {
    return { id: `page ${pattern}`, icon, text: title, kind: 'Page', does: { go: pattern } };
  });
}

function ofWorkers({ workers }: Known): Choice[] {
  return workers.map(({ id, name, status }) => {
    return { id, icon: 'workers', text: name, kind: 'Worker', status, does: { go: `/workers/${id}` } };
  });
}

function ofProviders({ providers }: Known): Choice[] {
  return providers.map(({ name, status }) => {
    const id = `provider ${name}`;
    return { id, icon: 'providers', text: name, kind: 'Provider', status, does: { go: '/providers' } };
  });
}

function ofJob({ id, status, title }: Known['jobs'][number]): Choice {
  return { id, icon: 'jobs', text: title, kind: 'Job', status, does: { go: `/jobs/${id}` } };
}

function action(icon: IconName, text: string, does: PaletteAction): Choice {
  return { id: `action ${text}`, icon, text, kind: 'Action', does };
}

function ownActions({ may, isNotifying }: Known): Choice[] {
  return [
    ...(may('client') ? [action('plus', 'New job', { go: '/jobs/new' })] : []),
    action('sun', themes.light, { theme: 'light' }),
    action('moon', themes.dark, { theme: 'dark' }),
    action('system', themes.system, { theme: 'system' }),
    isNotifying
      ? action('info', 'Stop notifying me', { notify: false })
      : action('info', 'Notify me when my runs end or a worker is lost', { notify: true }),
    action('keyboard', 'Show the keyboard shortcuts', { show: 'help' }),
    action('signOut', 'Sign out', { sign: 'out' }),
  ];
}

function fleetActions({ workers, providers, isQueuePaused, may }: Known): Choice[] {
  if (!may('operator')) return [];
  return [
    isQueuePaused
      ? action('running', 'Resume the queue', { queue: 'resume' })
      : action('paused', 'Pause the queue', { queue: 'pause' }),
    ...workers.map((worker) => ({
      ...(worker.paused
        ? action('running', `Resume worker ${worker.name}`, { resume: worker })
        : action('paused', `Pause worker ${worker.name}`, { pause: worker })),
      id: `action ${worker.id}`,
    })),
    ...providers
      .filter(({ isHeldUp }) => isHeldUp)
      .map(({ name }) => action('retry', `Reset provider ${name}`, { reset: name })),
  ];
}
