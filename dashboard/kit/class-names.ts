/** Joins classes, leaving out those that do not apply. */
export function classNames(...names: readonly (string | false | null | undefined)[]): string {
  return names.filter(Boolean).join(' ');
}

/** How a link within a text or a table looks. */
export const textLinkClass =
  'rounded text-accent-text underline decoration-accent-text/40 underline-offset-2 hover:decoration-current';
