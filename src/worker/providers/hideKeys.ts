/** What looks like a key of some provider, and what stands behind `Bearer`. */
const keyLike = /\b(?:sk|pk|rk|gsk|xai|hf|svc)[-_][\w*.-]{8,}|\bAIza[\w-]{10,}|(?<=\bbearer\s+)\S+/gi;

/** A function that takes a key out of a text: ours as it is, and whatever looks like one, such as the half of ours. */
export function hideKeys(apiKey: string | null): (text: string) => string {
  return (text) => {
    const withoutOurs = apiKey === null || apiKey === '' ? text : text.replaceAll(apiKey, '[hidden]');
    return withoutOurs.replace(keyLike, '[hidden]');
  };
}
