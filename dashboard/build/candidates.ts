/**
 * Every word of a source that may be a class. Tailwind leaves out what it does not know, so too many do no harm; only
 * what stands in brackets is taken for a property whatever it says, and code has many of those.
 */
export function candidatesIn(source: string): string[] {
  return [...new Set(source.match(/[^\s"'`]+/g) ?? [])].filter(
    (word) => /^[a-z@*!\-[]/.test(word) && (!word.startsWith('[') || word.startsWith('[&')),
  );
}
