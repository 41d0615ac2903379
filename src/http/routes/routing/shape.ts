import type { WireRouteExplanation } from '../../../domain/wire/routing.ts';
import { timeShape } from '../../shape/common.ts';
import { integer, list, named, nullable, object, oneOf, text } from '../../shape/shape.ts';

export const routeExplanationShape = named(
  'RouteExplanation',
  object<WireRouteExplanation>({
    strategy: oneOf(['direct', 'fallback', 'round_robin', 'least_busy', 'cheapest', 'fastest']),
    why: text('What decided.'),
    rule: nullable(integer(), 'Place of the rule that decided, from 0; null for none.'),
    chosen: nullable(
      object({ provider: text(), model: nullable(text()) }),
      'The provider that would run the job now, or that it would wait for; null if every member is skipped.',
    ),
    members: list(
      object({
        provider: text(),
        model: nullable(text()),
        worker: nullable(text(), "A worker's name that must run it."),
        worker_tag: nullable(text(), 'A tag that the worker must have.'),
        state: oneOf(['ready', 'busy', 'skipped']),
        outcome: oneOf(['chosen', 'skipped', 'not_needed']),
        why: text(),
        until: nullable(timeShape),
      }),
      'The candidates, in order.',
    ),
  }),
);
