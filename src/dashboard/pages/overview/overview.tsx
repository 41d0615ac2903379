import type { JSX } from 'preact';
import { Page } from '../../components/page.tsx';
import { Loading } from '../../components/states.tsx';
import { useStats } from '../../live/store.ts';

/** What the coordinator does now, and what needs somebody. */
export function Overview(): JSX.Element {
  const stats = useStats();
  return <Page title="Overview">{stats.value === null ? <Loading /> : null}</Page>;
}
