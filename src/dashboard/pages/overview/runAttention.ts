import type { WireLiveRun } from '../../../domain/wire/run.ts';
import type { Attention } from './attentionItem.ts';

/** Paused runs: each waits for somebody's decision. */
export function attentionOfRuns(runs: readonly WireLiveRun[]): Attention[] {
  return runs.flatMap(({ id, name, paused }): Attention[] => {
    if (paused === null) return [];
    const text = `The run ${name} is paused`;
    const advice = `${paused.detail}.`;
    return [{ key: `paused ${id}`, kind: 'run', tone: 'warn', text, advice, path: `/runs/${name}` }];
  });
}
