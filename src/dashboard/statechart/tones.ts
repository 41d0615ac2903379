import type { Tone } from '../components/badge.tsx';

/** What a state means for whoever looks, as in the badges: of a machine's states by their names. */
const tones: Record<string, Tone> = {
  pending: 'info',
  running: 'active',
  stuck: 'warn',
  completed: 'good',
  failed: 'bad',
  active: 'good',
  late: 'warn',
  paused: 'warn',
  draining: 'warn',
  available: 'good',
  limited: 'warn',
  open: 'bad',
  probing: 'info',
  accepting: 'good',
  starting: 'info',
  recovering: 'info',
};

/** The innermost part of a path that has a tone of its own: `running.stuck` warns, `running.active` is one that runs. */
export function toneOf(path: string): Tone {
  const [first = '', ...inner] = path.split('.');
  const last = inner.at(-1);
  return (last === 'stuck' || last === 'late' ? tones[last] : tones[first]) ?? 'neutral';
}
