import { type Role, ranks } from '../../../domain/key.ts';
import type { WireNewSession, WireSession, WireSessionList } from '../../../domain/wire/key.ts';
import { timeShape } from '../../shape/common.ts';
import { count, flag, list, loosely, named, nullable, object, oneOf, text } from '../../shape/shape.ts';

export const sessionShape = named(
  'Session',
  object<WireSession>(
    {
      id: text(),
      key_id: text('The key that made it; `environment` is that of `SVC_API_KEY`.'),
      key_name: nullable(text()),
      role: loosely<Role>(oneOf(ranks)),
      created_at: timeShape,
      last_used_at: nullable(
        timeShape,
        'Its last request; now while a socket of it is open, null when it was never used.',
      ),
      expires_at: timeShape,
      current: flag('Whether this request came with it.'),
    },
    'A key of its own that a key has made for a browser, without its secret.',
  ),
);

export const newSessionShape = named(
  'NewSession',
  object<WireNewSession>(
    {
      id: text(),
      role: loosely<Role>(oneOf(ranks)),
      key: text({
        description: 'Sent as a key, `Authorization: Bearer`.',
        pattern: '^svc_(viewer|client|operator|admin)_',
      }),
      key_id: text(),
      created_at: timeShape,
      expires_at: timeShape,
    },
    'A session, this once with its secret.',
  ),
);

export const sessionListShape = named(
  'SessionList',
  object<WireSessionList>({ sessions: list(sessionShape), total: count() }),
);
