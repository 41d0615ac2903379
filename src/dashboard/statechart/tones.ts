import type { Tone } from '../components/badge.tsx';

/** The tones of a machine's states by name, as in the badges. */
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

/** The innermost part of a path with a tone: `running.stuck` warns, `running.active` is running. */
export function toneOf(path: string): Tone {
  const [first = '', ...inner] = path.split('.');
  const last = inner.at(-1);
  return (last === 'stuck' || last === 'late' ? tones[last] : tones[first]) ?? 'neutral';
}
