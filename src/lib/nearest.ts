/** Which of the known names somebody most likely meant. */

/** Nobody means a name that is longer than this, and what a stranger wrote is compared with every known name. */
const maxLength = 64;
const maxEdits = 4;

/**
 * The nearest names, the best first: those that contain the word or are contained in it, then those that are few edits
 * away, as long as they are not much further away than the best. Empty when nothing is near.
 */
export function nearest(word: string, known: Iterable<string>, count = 3): string[] {
  const wanted = word.toLowerCase();
  if (wanted.length < 2 || wanted.length > maxLength) return [];
  const limit = Math.min(maxEdits, Math.floor(wanted.length / 3));
  const found: { name: string; edits: number }[] = [];
  for (const name of known) {
    const edits = editsBetween(wanted, name.toLowerCase(), limit);
    if (edits <= limit) found.push({ name, edits });
  }
  const best = Math.min(...found.map(({ edits }) => edits));
  return found
    .filter(({ edits }) => edits <= best + 1)
    .toSorted((a, b) => a.edits - b.edits || a.name.length - b.name.length)
    .slice(0, count)
    .map(({ name }) => name);
}

/** Less than one edit for a name with something added or left out at its ends: `gpt-5-mini` for `gpt-5-mini-2025-08-07`. */
function editsBetween(wanted: string, name: string, limit: number): number {
  if (name.length > maxLength) return Number.POSITIVE_INFINITY;
  const [short, long] = wanted.length < name.length ? [wanted, name] : [name, wanted];
  if (short.length >= 3 && long.includes(short)) return 1 - short.length / long.length;
  return editDistance(wanted, name, limit);
}

/**
 * How many characters have to be inserted, removed, replaced, or swapped with their neighbour. Infinite beyond the limit,
 * as soon as that is certain. Two prefixes whose lengths differ by more than the limit are never compared: the catalogue
 * may be long, and anybody may be wrong about a name as often as they like.
 */
export function editDistance(from: string, to: string, limit: number): number {
  if (Math.abs(from.length - to.length) > limit) return Number.POSITIVE_INFINITY;
  const tooMany = limit + 1;
  const newRow = () => new Uint16Array(to.length + 1).fill(tooMany);
  let [beforePrevious, previous, current] = [newRow(), newRow(), newRow()];
  for (let column = 0; column <= Math.min(limit, to.length); column += 1) previous[column] = column;
  let leastBefore = 0;
  for (let row = 1; row <= from.length; row += 1) {
    const first = Math.max(1, row - limit);
    current[first - 1] = first === 1 ? row : tooMany;
    let least = current[first - 1] ?? tooMany;
    const last = Math.min(to.length, row + limit);
    const letter = from.charCodeAt(row - 1);
    for (let column = first; column <= last; column += 1) {
      const isSame = letter === to.charCodeAt(column - 1);
      let edits = Math.min(
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + (isSame ? 0 : 1),
      );
      const isSwapped =
        row > 1 &&
        column > 1 &&
        letter === to.charCodeAt(column - 2) &&
        from.charCodeAt(row - 2) === to.charCodeAt(column - 1);
      if (isSwapped) edits = Math.min(edits, (beforePrevious[column - 2] ?? 0) + 1);
      current[column] = edits;
      if (edits < least) least = edits;
    }
    if (least > limit && leastBefore > limit) return Number.POSITIVE_INFINITY;
    leastBefore = least;
    [beforePrevious, previous, current] = [previous, current, beforePrevious];
  }
  const edits = previous[to.length] ?? 0;
  return edits > limit ? Number.POSITIVE_INFINITY : edits;
}

/** ` Did you mean a, b or c?`, or nothing when nothing is near. */
export function suggestion(names: readonly string[]): string {
  if (names.length === 0) return '';
  const last = names.at(-1) ?? '';
  return ` Did you mean ${names.length === 1 ? last : `${names.slice(0, -1).join(', ')} or ${last}`}?`;
}
