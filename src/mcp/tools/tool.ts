import type { Role } from '../../domain/key.ts';
import type { HttpParts } from '../../http/parts.ts';
import type { JsonSchema, Shape } from '../../http/shape/shape.ts';
import type { Fields } from '../../lib/fields.ts';
import type { Caller } from '../caller.ts';
import type { TextBlock } from '../frame.ts';
import { type ObjectSchema, standalone } from '../schema.ts';

/** What clients learn of a tool, `tools/list`. */
export interface ToolDefinition {
  name: string;
  title: string;
  description: string;
  inputSchema: ObjectSchema;
  outputSchema: ObjectSchema;
  annotations: {
    title: string;
    readOnlyHint: boolean;
    destructiveHint: boolean;
    idempotentHint: boolean;
    openWorldHint: boolean;
  };
}

/** One call of a tool. */
export interface ToolCall {
  parts: HttpParts;
  caller: Caller;
  /** Aborted when nobody waits for the result any more. */
  gone: AbortSignal;
  /** Reports seconds waited, of how many; null unless the client asked for it. */
  progress: ((seconds: number, total: number, message: string) => Promise<void>) | null;
}

/** The result of a call: for programs, and the same as text. */
export interface ToolAnswer<T> {
  structured: T;
  text: TextBlock[];
}

interface Settings<T extends object> {
  name: string;
  title: string;
  description: string;
  /** Which keys have it. */
  role: Extract<Role, 'viewer' | 'client'>;
  input: JsonSchema;
  output: Shape<T>;
  /** What it does to jobs; without it the tool only reads. */
  effect?: { isDestructive: boolean; isIdempotent: boolean; isOpenWorld: boolean };
  /** @throws CoordinatorError, which becomes a result that says what to do. */
  call(args: Fields, call: ToolCall): Promise<ToolAnswer<T>>;
}

/** A tool, whose types are checked where it is defined. */
export interface Tool {
  role: Extract<Role, 'viewer' | 'client'>;
  definition: ToolDefinition;
  call(args: Fields, call: ToolCall): Promise<ToolAnswer<object>>;
}

export function defineTool<T extends object>(settings: Settings<T>): Tool {
  const { name, title, description, role, input, output, effect } = settings;
  return {
    role,
    definition: {
      name,
      title,
      description,
      inputSchema: standalone(input),
      outputSchema: standalone(output.schema),
      annotations: {
        title,
        readOnlyHint: effect === undefined,
        destructiveHint: effect?.isDestructive ?? false,
        idempotentHint: effect?.isIdempotent ?? true,
        openWorldHint: effect?.isOpenWorld ?? false,
      },
    },
    call: (args, call) => settings.call(args, call),
  };
}
