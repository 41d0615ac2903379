import { machineNames } from '../../../domain/machine.ts';
import type { WireInspected, WireInspection } from '../../../domain/wire/machine.ts';
import { timeShape } from '../../shape/common.ts';
import {
  count,
  fields,
  flag,
  list,
  loosely,
  named,
  nullable,
  object,
  oneOf,
  text,
} from '../../shape/shape.ts';

export const inspectionShape = named(
  'Inspection',
  object<WireInspection>({
    enabled: flag('Whether the coordinator was started with `--inspect`.'),
    actors: list(
      object({
        machine: oneOf(machineNames),
        actor_id: text(),
        state: text(),
        event_count: count(),
        updated_at: timeShape,
      }),
      { description: 'The most recent first.', maxItems: 200 },
    ),
    events: list(
      object({
        at: timeShape,
        machine: oneOf(machineNames),
        actor_id: text(),
        event: loosely<WireInspected['event']>(object({ type: text() }, { additionalProperties: true })),
        from: nullable(
          text(),
          'null for the beginning of a job (`xstate.init`), and when it is not known any more.',
        ),
        to: text(),
        context: fields(),
      }),
      { description: 'Oldest first.', maxItems: 300 },
    ),
  }),
);
