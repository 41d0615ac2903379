import type { Assignment } from '../../../domain/workerProtocol.ts';

/** What looks like a key of some provider, and what follows `Bearer`. */
const keyLike = /\b(?:sk|pk|rk|gsk|xai|hf|svc)[-_][\w*.-]{8,}|\bAIza[\w-]{10,}|(?<=\bbearer\s+)\S+/gi;

/**
 * A function that removes secrets from a text: our own, and everything that looks like a key, such as a part of ours.
 */
export function hideKeys(secrets: readonly string[]): (text: string) => string {
  return (text) => {
    const withoutOurs = secrets.reduce((rest, secret) => rest.replaceAll(secret, '[hidden]'), text);
    return withoutOurs.replace(keyLike, '[hidden]');
  };
}

/** Characters that a provider's sentence and a job may share by chance. */
const commonMax = 16;
/** Characters of a sentence that are checked. */
const lookedAtMax = 2_000;

/**
 * Whether a text repeats a part of the job: 24 characters in a row, or slightly fewer. Some servers quote the request
 * in their errors, and errors are shown, logged and stored where the job's content must not be.
 */
function repeats(text: string, { prompt, input, messages }: Assignment): boolean {
  const said = [prompt, input, messages === null ? null : JSON.stringify(messages)].filter(
    (part) => part !== null,
  );
  const looked = text.slice(0, lookedAtMax);
  for (let at = 0; at + commonMax <= looked.length; at += commonMax / 2) {
    const piece = looked.slice(at, at + commonMax);
    if (said.some((part) => part.includes(piece))) return true;
  }
  return false;
}

/**
 * A function that removes from a provider's sentence what must stay private: keys, and sentences that quote the job.
 */
export function hideAll(secrets: readonly string[], assignment: Assignment): (text: string) => string {
  const withoutKeys = hideKeys(secrets);
  return (text) => (repeats(text, assignment) ? '' : withoutKeys(text));
}
