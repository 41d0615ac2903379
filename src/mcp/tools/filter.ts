import { parseBulk } from '../../http/routes/jobs/bulk.ts';
import { filterParameters, newestParameter } from '../../http/routes/jobs/parameters.ts';
import type { Fields } from '../../lib/fields.ts';
import type { JobFilter } from '../../store/store.ts';
import { propertiesOf } from './properties.ts';
import { fault } from './submitting.ts';

/** The filters of GET /api/jobs by name, as properties of an object. */
export const filterProperties = propertiesOf({ ...filterParameters, newest: newestParameter });

/** @throws CoordinatorError invalid_request. */
export function parseFilter(filter: Fields): JobFilter {
  const choice = parseBulk({ filter });
  if ('filter' in choice) return choice.filter;
  throw fault('filter', 'must be an object');
}
