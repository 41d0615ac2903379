import type { Assignment } from '../../../domain/workerProtocol.ts';

/** What looks like a key of some provider, and what stands behind `Bearer`. */
const keyLike = /\b(?:sk|pk|rk|gsk|xai|hf|svc)[-_][\w*.-]{8,}|\bAIza[\w-]{10,}|(?<=\bbearer\s+)\S+/gi;

/** A function that takes secrets out of a text: ours as they are, and whatever looks like a key, such as the half of ours. */
export function hideKeys(secrets: readonly string[]): (text: string) => string {
  return (text) => {
    const withoutOurs = secrets.reduce((rest, secret) => rest.replaceAll(secret, '[hidden]'), text);
    return withoutOurs.replace(keyLike, '[hidden]');
  };
}

/** Characters that a provider's sentence and a job may have in common by chance. */
const commonMax = 16;
/** Characters of a sentence that are looked at. */
const lookedAtMax = 2_000;

/**
 * Whether a text repeats what a job says: 24 characters in a row, or a little fewer. Some servers quote the request in
 * their errors, and an error is shown, logged and kept where the job's content must not be.
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

/** A function that takes out of a provider's sentence what must not be told: keys, and the sentence that quotes the job. */
export function hideAll(secrets: readonly string[], assignment: Assignment): (text: string) => string {
  const withoutKeys = hideKeys(secrets);
  return (text) => (repeats(text, assignment) ? '' : withoutKeys(text));
}
