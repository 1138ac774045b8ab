/**
 * The first name that stands twice in one object of a JSON text, or null. Of two fields with one name a parser keeps the
 * last without a word, so the text itself is looked at. It must be one that can be parsed.
 */
export function repeatedName(json: string): string | null {
  const objects: Set<string>[] = [];
  let lastText = '';
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[{}:]/g)) {
    if (token === '{') objects.push(new Set());
    else if (token === '}') objects.pop();
    // Only a name is followed by a colon.
    else if (token === ':') {
      const name = String(JSON.parse(lastText));
      if (objects.at(-1)?.has(name)) return name;
      objects.at(-1)?.add(name);
    } else lastText = token;
  }
  return null;
}
