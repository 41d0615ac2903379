import { hash } from 'node:crypto';
import { type Fields, fieldsOf, isFields } from '../../../lib/fields.ts';
import { invalidField } from '../errors.ts';
import { isGiven } from '../request.ts';

/** OpenAI's bound for the name of a function. */
const nameLengthMax = 64;
/** Digits of the hash at the end of a name that was cut, so that it stays unlike others. */
const hashLength = 8;

/** A function that the model may call. */
interface NamedTool {
  /** As the provider knows it; unlike all others. */
  flatName: string;
  name: string;
  /** The group that it is in; null for none. */
  namespace: string | null;
  tool: Fields;
}

/** The name of a function as its client knows it. */
export interface CalledName {
  name: string;
  namespace?: string;
}

/**
 * The functions among the tools of a request, those in namespaces too. Tools of any other type run at OpenAI or have no form
 * that other providers know; they are left out.
 */
export class FunctionTools {
  readonly #tools: NamedTool[] = [];
  readonly #byFlatName = new Map<string, NamedTool>();
  /** By `keyOf`. */
  readonly #byKey = new Map<string, NamedTool>();

  /** @param tools of the request. @throws OpenAiError unless they are a list, and every function has a name. */
  constructor(tools: unknown) {
    if (isGiven(tools) && !Array.isArray(tools)) throw invalidField('tools', 'must be a list');
    for (const [index, tool] of listOf(tools).entries()) {
      const at = `tools[${index}]`;
      if (tool.type === 'function') this.#add(tool, null, at);
      if (tool.type !== 'namespace' || typeof tool.name !== 'string') continue;
      for (const [place, inner] of listOf(tool.tools).entries())
        if (inner.type === 'function') this.#add(inner, tool.name, `${at}.tools[${place}]`);
    }
  }

  /** In the form of chat completions. @param only names of functions; null for all. */
  chatForm(only: ReadonlySet<string> | null): Fields[] {
    const allowed = this.#tools.filter(({ name }) => only === null || only.has(name));
    return allowed.map(({ flatName, tool: { description, parameters, strict } }) => ({
      type: 'function',
      function: {
        name: flatName,
        ...(isGiven(description) ? { description } : {}),
        ...(isGiven(parameters) ? { parameters } : {}),
        ...(isGiven(strict) ? { strict } : {}),
      },
    }));
  }

  /** What the provider calls a function. */
  flatNameOf(name: string, namespace: unknown): string {
    return this.#byKey.get(keyOf(name, namespace))?.flatName ?? name;
  }

  /** What the client calls a function that the model has called. */
  calledName(flatName: string): CalledName {
    const { name, namespace } = this.#byFlatName.get(flatName) ?? { name: flatName, namespace: null };
    return namespace === null ? { name } : { name, namespace };
  }

  /** The first function of a name keeps it; later ones of other namespaces have the namespace before it. */
  #add(tool: Fields, namespace: string | null, at: string): void {
    const { name } = tool;
    if (typeof name !== 'string' || name === '')
      throw invalidField(`${at}.name`, 'must be the name of the function');
    const key = keyOf(name, namespace);
    const flatName = this.#byFlatName.has(name) ? shortened(`${namespace ?? ''}__${name}`) : name;
    if (this.#byKey.has(key) || this.#byFlatName.has(flatName)) return;
    const named = { flatName, name, namespace, tool };
    this.#tools.push(named);
    this.#byKey.set(key, named);
    this.#byFlatName.set(flatName, named);
  }
}

function keyOf(name: string, namespace: unknown): string {
  return JSON.stringify([namespace ?? null, name]);
}

function shortened(name: string): string {
  if (name.length <= nameLengthMax) return name;
  const digits = hash('sha256', name).slice(0, hashLength);
  return `${name.slice(0, nameLengthMax - hashLength - 1)}_${digits}`;
}

/** `tools` and what belongs to them as params of a chat. @throws OpenAiError. */
export function toolParams(fields: Fields, functions: FunctionTools): Fields {
  const choice = choiceOf(fields.tool_choice, functions);
  const tools = functions.chatForm(choice.only);
  // Providers refuse the others without tools.
  if (tools.length === 0) return {};
  const { parallel_tool_calls: isParallel } = fields;
  return {
    tools,
    ...(choice.value === undefined ? {} : { tool_choice: choice.value }),
    ...(isGiven(isParallel) ? { parallel_tool_calls: isParallel } : {}),
  };
}

/** @returns which functions may be called, null for all, and the choice in the form of chat completions. */
function choiceOf(
  choice: unknown,
  functions: FunctionTools,
): { only: ReadonlySet<string> | null; value?: unknown } {
  if (!isGiven(choice)) return { only: null };
  if (typeof choice === 'string') return { only: null, value: choice };
  if (!isFields(choice)) throw invalidField('tool_choice', 'must be a word or an object');
  const { type, name, mode } = choice;
  if (type === 'function' && typeof name === 'string') {
    return { only: null, value: { type: 'function', function: { name: functions.flatNameOf(name, null) } } };
  }
  // Any other tool was left out, so the model is free to choose.
  if (type !== 'allowed_tools') return { only: null };
  const names = listOf(choice.tools).map((tool) => tool.name);
  const only = new Set(names.filter((one) => typeof one === 'string'));
  return { only, ...(isGiven(mode) ? { value: mode } : {}) };
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}
