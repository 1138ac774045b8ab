/** Joins classes, without those that do not apply. */
export function classNames(...names: readonly (string | false | null | undefined)[]): string {
  return names.filter(Boolean).join(' ');
}

/** For links within text or a table. */
export const textLinkClass =
  'rounded text-accent-text underline decoration-accent-text/40 underline-offset-2 hover:decoration-current';
