import type { WireQueue } from '../../../domain/wire/queue.ts';
import { timeShape } from '../../shape/common.ts';
import { flag, named, nullable, object, text } from '../../shape/shape.ts';

export const queueShape = named(
  'Queue',
  object<WireQueue>(
    {
      paused: flag(),
      since: nullable(timeShape, 'Of the last pause or resume; null before the first one.'),
      by: nullable(
        object({ key_id: text(), name: nullable(text()) }),
        'The key that did it, with the name that it had then; null before the first one.',
      ),
      reason: nullable(text(), 'Of the pause; null when none was given.'),
    },
    'Whether waiting jobs are handed out, and who decided that last.',
  ),
);
