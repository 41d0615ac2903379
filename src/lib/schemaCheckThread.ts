/* The thread of `SchemaChecks`: answers one question after the other. */

import { parentPort } from 'node:worker_threads';
import { type Schema, Validator } from '@cfworker/json-schema';
import { messageOf } from '../domain/errors.ts';

/** What is asked. */
export interface CheckQuestion {
  /** JSON of the schema. */
  schema: string;
  /** null: whether the schema itself can be used. */
  text: string | null;
}

export interface CheckAnswer {
  /** What is wrong; null for nothing. */
  fault: string | null;
}

/** Schemas whose validators are kept: one for each run that is going on. */
const validatorsMax = 50;
/** Characters of a fault. */
const faultMax = 300;
/** Characters of the text that a fault quotes. */
const quoteMax = 80;

const validators = new Map<string, Validator>();

function validatorOf(schema: string): Validator {
  const known = validators.get(schema);
  if (known !== undefined) return known;
  if (validators.size >= validatorsMax) validators.clear();
  const parsed: Schema | boolean = JSON.parse(schema);
  const validator = new Validator(parsed, '2020-12');
  validators.set(schema, validator);
  return validator;
}

function faultOf({ schema, text }: CheckQuestion): string | null {
  if (text === null) return schemaFault(schema);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return `is not JSON: ${JSON.stringify(text.slice(0, quoteMax))}`;
  }
  try {
    const { valid, errors } = validatorOf(schema).validate(value);
    if (valid) return null;
    // The last is the innermost.
    const error = errors[errors.length - 1];
    return `does not match the schema at ${error?.instanceLocation ?? '#'}: ${error?.error ?? 'it is not allowed'}`;
  } catch (error) {
    return `could not be checked: ${messageOf(error)}`;
  }
}

/** A reference that leads nowhere, an expression that is none: they show with any value. */
function schemaFault(schema: string): string | null {
  try {
    for (const value of [null, {}, [], '', 0]) validatorOf(schema).validate(value);
    return null;
  } catch (error) {
    return `cannot be used: ${messageOf(error)}`;
  }
}

parentPort?.on('message', (question: CheckQuestion) => {
  const answer: CheckAnswer = { fault: faultOf(question)?.slice(0, faultMax) ?? null };
  parentPort?.postMessage(answer);
});
