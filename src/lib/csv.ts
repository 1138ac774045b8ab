/** Comma-separated values (RFC 4180), for people who open them in a spreadsheet. */

/**
 * Where a cell starts like a formula: at the start of a name, and after any character that separates cells in some
 * locale, because quotes do not protect from a reader with another separator. Full-width forms count as well.
 */
const formulaStart = /(?<=^|[,;|\t\r\n])(?=[\s"]*[=+\-@＝＋－＠])|^(?=[\t\r\n])/g;

/** A spreadsheet evaluates what starts like a formula, and users choose names freely. An apostrophe makes it text. */
export function asText(name: string): string {
  return name.replaceAll(formulaStart, "'");
}

export function lineOf(cells: readonly string[]): string {
  return `${cells.join(',')}\r\n`;
}

export function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

/** A text that someone chose; empty where nothing is known. */
export function textCell(text: string | null): string {
  return text === null ? '' : quoted(asText(text));
}

/** Inside of a text, after what separates cells in some locale. JSON writes tabs and line breaks as escapes. */
const formulaInside = /(?<=[,;|]\s*)[=+\-@＝＋－＠]/g;
const formulaAnywhere = /(?<=^"\s*|[,;|]\s*)[=+\-@＝＋－＠]/g;

/** The same for JSON, which an apostrophe would make invalid, or another text: an escape is the same text and no formula. */
export function jsonCell(value: object | null): string {
  if (value === null) return '';
  const json = JSON.stringify(value).replaceAll(/"(?:[^"\\]|\\.)*"/g, (text, at: number, whole: string) =>
    text.replaceAll(whole[at - 1] === ',' ? formulaAnywhere : formulaInside, escaped),
  );
  return quoted(json);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
