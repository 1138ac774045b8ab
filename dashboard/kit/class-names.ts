/** Joins classes, without those that do not apply. */
export function classNames(...names: readonly (string | false | null | undefined)[]): string {
  return names.filter(Boolean).join(' ');
}

/** For the name of a row that leads to its own page: names are links everywhere, so they need no colour. */
export const nameLinkClass =
  'rounded font-medium text-ink wrap-anywhere hover:underline hover:underline-offset-2';

/** For other links within text or a table. */
export const textLinkClass =
  'rounded text-accent-text underline decoration-accent-text/40 underline-offset-2 hover:decoration-current';
