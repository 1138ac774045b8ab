/** Which model of the catalogue a name on a bill means. */

/** What may follow the name of a model without making it another one: a date, a number of a revision, or `latest`. */
const revision = /^(?:[-@:](?:\d{4}-\d{2}-\d{2}|\d{3,8}|latest))+$/;

/**
 * The name that the catalogue sends to the provider (`upstream_model`); null when none fits. In this order: the same name;
 * the longest name that the bill's continues with a date or revision (`gpt-6` for `gpt-6-2026-05-01`); the only name that
 * continues the bill's in this way. Several would be a guess.
 */
export function matchModel(billName: string, upstreamModels: Iterable<string>): string | null {
  const names = [...upstreamModels];
  const wanted = billName.toLowerCase();
  const same = names.find((name) => name === billName) ?? names.find((name) => name.toLowerCase() === wanted);
  if (same !== undefined) return same;
  const shorter = names.filter((name) => continues(wanted, name.toLowerCase()));
  if (shorter.length > 0) return shorter.reduce((one, other) => (other.length > one.length ? other : one));
  const longer = names.filter((name) => continues(name.toLowerCase(), wanted));
  return longer.length === 1 ? (longer[0] ?? null) : null;
}

function continues(name: string, beginning: string): boolean {
  return name.startsWith(beginning) && revision.test(name.slice(beginning.length));
}
