/** The location of a value in a JSON document: field names and list positions, from the outside in. */
export type JsonPath = readonly (string | number)[];

/** A path holds names that the client chose, so its printed form is bounded. */
const maxShown = 100;
const plainName = /^[A-Za-z_$][\w$]*$/;

/** `messages[2].content[0].text`; a name that does not read well in that form is quoted: `schema["odd key"]`. */
export function formatPath(path: JsonPath): string {
  let text = '';
  for (const step of path) {
    text += formatStep(step, text === '');
    if (text.length > maxShown) return `${text.slice(0, maxShown).toWellFormed()}…`;
  }
  return text;
}

function formatStep(step: string | number, isFirst: boolean): string {
  if (typeof step === 'number') return `[${step}]`;
  const shown = step.slice(0, maxShown + 1);
  if (!plainName.test(shown)) return `[${JSON.stringify(shown)}]`;
  return isFirst ? shown : `.${shown}`;
}

/** The value at a path; undefined when there is none. Only own properties count, whatever the client calls them. */
export function valueAt(root: unknown, path: JsonPath): unknown {
  let value = root;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Readonly<Record<string | number, unknown>>)[step];
  }
  return value;
}
