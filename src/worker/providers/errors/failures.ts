import type { WireFailure } from '../../../domain/workerProtocol.ts';
import { outputBytesMax } from '../../../domain/workerProtocol.ts';
import type { HttpFailure } from '../http/httpFailure.ts';

/** Failures that no provider puts into words. */

/** No answer, or one that broke off. @param address of the server, without user name and password. */
export function connectionFailure(
  name: string,
  address: string,
  { kind, message, code }: HttpFailure,
): WireFailure {
  if (kind === 'malformed') return malformedStream(name, message);
  return {
    class: kind,
    message: `The ${name} server at ${address} does not answer: ${message}`,
    ...(code === null ? {} : { code }),
  };
}

/** A stream that ended without its last event: what came so far is no answer. */
export function incompleteStream(name: string): WireFailure {
  return {
    class: 'server_error',
    code: 'incomplete_stream',
    message: `The ${name} server ended its answer before it was complete`,
  };
}

/** The same where the connection broke: the server was reached, so it is no failure of the network. */
export function brokenStream(name: string, { message }: HttpFailure): WireFailure {
  const incomplete = incompleteStream(name);
  return { ...incomplete, message: `${incomplete.message}: ${message}` };
}

/** @param what came in place of a stream; nothing of its content. */
export function malformedStream(name: string, what: string): WireFailure {
  return {
    class: 'server_error',
    code: 'malformed_stream',
    message: `The ${name} server answered with ${what}`,
  };
}

/** More than the coordinator takes in one frame, which is also the most that one run may hold in memory. */
export function tooLargeOutput(name: string): WireFailure {
  return {
    class: 'invalid_request',
    code: 'result_too_large',
    message: `The answer of ${name} is larger than the ${outputBytesMax / 1024 / 1024} MiB that a result may have; ask for less with max_tokens`,
  };
}

/** The provider would not say it, and there is nothing else to give. */
export function filteredAnswer(name: string, reason: string): WireFailure {
  return {
    class: 'content_filtered',
    code: 'content_filter',
    message: `${name} gave no answer: the content was filtered (${reason.slice(0, 60)})`,
  };
}

/** The job names a model as the provider names none; it is not asked. */
export function badModelName(name: string): WireFailure {
  return { class: 'model_not_found', message: `Model not found: no model of ${name} can have such a name` };
}

/** The job names no model, and none is configured. */
export function noModel(name: string): WireFailure {
  return {
    class: 'model_not_loaded',
    message: `No model loaded: the job names no model, and ${name}.model is not configured`,
  };
}
