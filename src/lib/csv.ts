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
