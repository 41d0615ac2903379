import type { WireFailure } from '../../../domain/workerProtocol.ts';
import { outputBytesMax } from '../../../domain/workerProtocol.ts';
import type { HttpFailure } from '../http/httpFailure.ts';

/** Failures without a message of the provider. */

/** No answer, or an interrupted one. @param address of the server, without user name and password. */
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

/** A stream that ended without its last event: the part received is not an answer. */
export function incompleteStream(name: string): WireFailure {
  return {
    class: 'server_error',
    code: 'incomplete_stream',
    message: `The ${name} server ended its answer before it was complete`,
  };
}

/** The same after the connection broke: the server was reached, so the network is not at fault. */
export function brokenStream(name: string, { message }: HttpFailure): WireFailure {
  const incomplete = incompleteStream(name);
  return { ...incomplete, message: `${incomplete.message}: ${message}` };
}

/** @param what arrived instead of a stream; nothing of its content. */
export function malformedStream(name: string, what: string): WireFailure {
  return {
    class: 'server_error',
    code: 'malformed_stream',
    message: `The ${name} server answered with ${what}`,
  };
}

/** More than the coordinator accepts in one frame, which is also the most that one run may hold in memory. */
export function tooLargeOutput(name: string): WireFailure {
  return {
    class: 'invalid_request',
    code: 'result_too_large',
    message: `The answer of ${name} is larger than the ${outputBytesMax / 1024 / 1024} MiB that a result may have; ask for less with max_tokens`,
  };
}

/** The provider withheld the answer. */
export function filteredAnswer(name: string, reason: string): WireFailure {
  return {
    class: 'content_filtered',
    code: 'content_filter',
    message: `${name} gave no answer: the content was filtered (${reason.slice(0, 60)})`,
  };
}

/** The model's name cannot be one of this provider; no request is made. */
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
