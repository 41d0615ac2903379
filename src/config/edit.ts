import { isMap, parse, parseDocument } from 'yaml';
import { messageOf } from '../domain/errors.ts';
import { pathSteps } from './fields.ts';
import { ConfigError, parseConfig } from './load.ts';

/**
 * The text of a configuration file with one value changed; comments and everything else stay unchanged.
 * @param name of the file; one that ends with `.json` stays JSON.
 * @param key its path as in the file, `providers.defaults.rate_limit.max_retries`.
 * @param value in YAML: `5`, `[a, b]`, `{max_retries: 5}`; null removes the key.
 * @throws ConfigError when the text is invalid before or after the change; this function writes nothing.
 */
export function changedConfigText(text: string, name: string, key: string, value: string | null): string {
  const before = parseConfig(text, name);
  if (before.problems.length > 0) throw new ConfigError(before.problems);
  const document = parseDocument(text);
  const steps = pathSteps(key);
  // An empty file, or a key with nothing under it, has no map to add to.
  for (let length = 0; length < steps.length; length += 1) {
    const parent = steps.slice(0, length);
    const node: unknown = length === 0 ? document.contents : document.getIn(parent, true);
    if (isMap(node) || value === null) continue;
    if (length === 0) document.contents = document.createNode({}) as typeof document.contents;
    else document.setIn(parent, document.createNode({}));
  }
  if (value === null) document.deleteIn(steps);
  else document.setIn(steps, document.createNode(parsedValue(value, name, key)));
  const after = name.endsWith('.json')
    ? `${JSON.stringify(document.toJS(), null, 2)}\n`
    : document.toString({ lineWidth: 0 });
  const { problems } = parseConfig(after, name);
  if (problems.length > 0) throw new ConfigError(problems);
  return after;
}

function parsedValue(text: string, source: string, path: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw new ConfigError([{ source, line: null, path, message: `is not YAML: ${messageOf(error)}` }]);
  }
}
