import type { WireKey, WireKeyList, WireKeyUse, WireNewKey, WireTicket } from '../../../domain/wire/key.ts';
import { roleShape, timeShape } from '../../shape/common.ts';
import { list, literal, type Members, named, nullable, object, optional, text } from '../../shape/shape.ts';
import { boundsMembers } from './bounds.ts';

const keyMembers: Members<WireKey> = {
  id: text(),
  role: roleShape,
  name: nullable(text()),
  created_at: timeShape,
  expires_at: nullable(timeShape),
  last_used_at: nullable(
    timeShape,
    'Its last request; now while a socket of it is open, null when it was never used. After a crash up to 10 minutes of use may be missing.',
  ),
  previous_valid_until: nullable(timeShape, 'Until when the secret before the last rotation still works.'),
  in_data_folder: optional(
    literal(
      true,
      "In lists, on the key that `admin.key` in the coordinator's data folder holds: the command line on that machine uses it. Left out for the others, and once the secret in the file is no longer valid.",
    ),
  ),
  used_by: optional(
    named(
      'KeyUse',
      object<WireKeyUse>({
        workers: list(text(), 'Names of the workers that belong to the key, at most 100.'),
        clients: list(
          object<WireKeyUse['clients'][number]>({
            name: text('The `User-Agent`.'),
            address: nullable(text()),
            last_used_at: timeShape,
          }),
          'The last 20 programs since the start of the coordinator, by name and address, the last one first.',
        ),
        more: optional(
          literal(
            true,
            'Others have used the key too, and are not listed: there were more workers or programs than that. Left out otherwise.',
          ),
        ),
      }),
    ),
  ),
  ...boundsMembers,
};

export const keyShape = named('Key', object<WireKey>(keyMembers, 'A key, without its secret.'));

export const newKeyShape = named(
  'NewKey',
  object<WireNewKey>(
    {
      ...keyMembers,
      key: text({
        description: 'The key itself.',
        pattern: '^svc_(viewer|client|operator|admin|worker|metrics)_',
      }),
    },
    'A key with its secret, which is shown only once.',
  ),
);

export const keyListShape = named('KeyList', object<WireKeyList>({ keys: list(keyShape) }));

export const ticketShape = named(
  'Ticket',
  object<WireTicket>({
    ticket: text({ minLength: 1 }),
    expires_at: timeShape,
    refusal: nullable(
      text(),
      'Why a socket of the page that asked would be refused now, and which setting it is. A page cannot read the answer to a refused upgrade.',
    ),
  }),
);
