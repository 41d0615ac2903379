/**
 * Where a value is in a list that a turn sends once for all that have it; it is added when it is not there yet.
 * @param places of those that are there. @param name equal for equal values.
 */
export function placeOf<T>(places: Map<string, number>, list: T[], name: string, value: T): number {
  const known = places.get(name);
  if (known !== undefined) return known;
  const place = list.push(value) - 1;
  places.set(name, place);
  return place;
}
