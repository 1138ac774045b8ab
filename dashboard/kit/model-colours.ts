/**
 * One colour for each model (or key), everywhere the same. Those of models follow from the names in the catalogue: no two have the
 * same colour unless there are more models than colours. Others follow from their own name; where several are shown at once and two
 * would have the same colour, one of them gets another that is free.
 */
const colours = [
  'bg-chart-1',
  'bg-chart-2',
  'bg-chart-4',
  'bg-chart-5',
  'bg-chart-7',
  'bg-chart-8',
  'bg-chart-9',
  'bg-chart-10',
] as const;

/** For everything that has none of its own. */
export const othersColour = 'bg-chart-6';
export const colourCount = colours.length;

/** Also of a model that is no longer in the catalogue, which may have the colour of one that is. */
export function modelColour(name: string, catalogue: readonly string[] = []): string {
  return colours[placesOf(catalogue).get(name) ?? placeOf(name)] ?? othersColour;
}

/** Distinct for up to `colourCount` names. Only of those that collide, all but the first by name get another colour. */
export function modelColours(
  names: readonly string[],
  catalogue: readonly string[] = [],
): ReadonlyMap<string, string> {
  const inCatalogue = placesOf(catalogue);
  const places = placesOf(names, (name) => inCatalogue.get(name) ?? placeOf(name));
  return new Map([...places].map(([name, place]) => [name, colours[place] ?? othersColour]));
}

function placesOf(names: readonly string[], ownPlaceOf = placeOf): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  const taken = new Set<number>();
  const sorted = [...new Set(names)].toSorted();
  for (const name of sorted) {
    const place = ownPlaceOf(name);
    if (taken.has(place)) continue;
    places.set(name, place);
    taken.add(place);
  }
  for (const name of sorted) {
    if (places.has(name)) continue;
    const place = firstFree(ownPlaceOf(name), taken);
    places.set(name, place);
    taken.add(place);
  }
  return places;
}

/** Their own place if all are taken. */
function firstFree(from: number, taken: ReadonlySet<number>): number {
  for (let step = 1; step < colourCount; step += 1) {
    const place = (from + step) % colourCount;
    if (!taken.has(place)) return place;
  }
  return from;
}

/** FNV-1a: similar names, such as two versions of a model, get different places. */
function placeOf(name: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at += 1) {
    hash ^= name.charCodeAt(at);
    hash = Math.imul(hash, 0x01000193) >>> 0;
  }
  return ((hash ^ (hash >>> 15)) >>> 0) % colourCount;
}
