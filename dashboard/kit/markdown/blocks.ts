/**
 * The blocks of Markdown as chat models write it: headings, lists, quotes, tables and code. It never fails: what is not
 * Markdown is a paragraph, and code that has not ended yet, as in a response in progress, lasts to the end. Every line is
 * read once per level of nesting, and levels are bounded.
 */
import { type Inline, parseInline } from './inline.ts';

type Alignment = 'left' | 'right' | 'center' | null;
type Cells = readonly (readonly Inline[])[];

export type Block =
  | Readonly<{ kind: 'paragraph'; content: readonly Inline[] }>
  | Readonly<{ kind: 'heading'; level: number; content: readonly Inline[] }>
  | Readonly<{ kind: 'code'; language: string; text: string }>
  | Readonly<{ kind: 'quote'; blocks: readonly Block[] }>
  | Readonly<{ kind: 'list'; start: number | null; items: readonly (readonly Block[])[] }>
  | Readonly<{ kind: 'table'; alignments: readonly Alignment[]; head: Cells; rows: readonly Cells[] }>
  | Readonly<{ kind: 'rule' }>;

/** Text beyond this is shown as it is: so many elements would slow the browser down. */
const maxLength = 100_000;
const maxDepth = 6;
const maxColumns = 50;

export function parseMarkdown(text: string): readonly Block[] {
  const blocks = parseLines(text.slice(0, maxLength).replaceAll(/\r\n?/g, '\n').split('\n'), 0);
  if (text.length <= maxLength) return blocks;
  return [...blocks, { kind: 'paragraph', content: [{ kind: 'text', text: text.slice(maxLength) }] }];
}

/** A block, and the line after it. */
type Found = Readonly<{ block: Block; next: number }>;

function parseLines(lines: readonly string[], depth: number): readonly Block[] {
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    if (isBlank(lines[at])) {
      at += 1;
      continue;
    }
    const { block, next } =
      codeAt(lines, at) ??
      headingAt(lines, at) ??
      ruleAt(lines, at) ??
      (depth < maxDepth ? (quoteAt(lines, at, depth) ?? listAt(lines, at, depth)) : null) ??
      tableAt(lines, at) ??
      paragraphAt(lines, at);
    blocks.push(block);
    at = next;
  }
  return blocks;
}

function isBlank(line: string | undefined): boolean {
  return line === undefined || line.trim() === '';
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

function codeAt(lines: readonly string[], at: number): Found | null {
  const [, indent = '', fence, info = ''] = /^( {0,3})(`{3,}|~{3,})(.*)$/s.exec(lines[at] ?? '') ?? [];
  if (fence === undefined || (fence.startsWith('`') && info.includes('`'))) return null;
  const isEnd = (line: string) => {
    const text = line.trim();
    return text.length >= fence.length && text === fence.charAt(0).repeat(text.length);
  };
  let end = at + 1;
  while (end < lines.length && !isEnd(lines[end] ?? '')) end += 1;
  const inner = lines.slice(at + 1, end);
  const text = inner.map((line) => line.slice(Math.min(indentOf(line), indent.length))).join('\n');
  return { block: { kind: 'code', language: info.trim(), text }, next: end + 1 };
}

function headingAt(lines: readonly string[], at: number): Found | null {
  const [, marks, rest = ''] = /^ {0,3}(#{1,6})(?:\s(.*))?$/s.exec(lines[at] ?? '') ?? [];
  if (marks === undefined) return null;
  return {
    block: { kind: 'heading', level: marks.length, content: parseInline(titleIn(rest)) },
    next: at + 1,
  };
}

/** Without the number signs that may end a heading. */
function titleIn(text: string): string {
  const trimmed = text.trim();
  let end = trimmed.length;
  while (trimmed.charAt(end - 1) === '#') end -= 1;
  const isClosed = end === 0 || (end < trimmed.length && trimmed.charAt(end - 1) === ' ');
  return isClosed ? trimmed.slice(0, end).trim() : trimmed;
}

function ruleAt(lines: readonly string[], at: number): Found | null {
  const marks = (lines[at] ?? '').replaceAll(' ', '');
  const [mark = ''] = marks;
  const isRule = marks.length >= 3 && '-*_'.includes(mark) && marks === mark.repeat(marks.length);
  return isRule ? { block: { kind: 'rule' }, next: at + 1 } : null;
}

const quoteMark = /^ {0,3}> ?/;

function quoteAt(lines: readonly string[], at: number, depth: number): Found | null {
  let next = at;
  const inner: string[] = [];
  while (quoteMark.test(lines[next] ?? '')) {
    inner.push((lines[next] ?? '').replace(quoteMark, ''));
    next += 1;
  }
  return next === at ? null : { block: { kind: 'quote', blocks: parseLines(inner, depth + 1) }, next };
}

type ItemMark = Readonly<{ indent: number; width: number; number: number | null }>;

function itemMarkIn(line: string): ItemMark | null {
  const [, spaces = '', mark, gap = ''] = /^( *)([-*+]|\d{1,9}[.)])( +|$)/.exec(line) ?? [];
  if (mark === undefined) return null;
  const width = mark.length + (gap.length > 4 ? 1 : Math.max(gap.length, 1));
  return { indent: spaces.length, width, number: mark.length > 1 ? Number.parseInt(mark, 10) : null };
}

/** Items may be indented further than Markdown asks for: models do not count spaces. */
function listAt(lines: readonly string[], at: number, depth: number): Found | null {
  const first = itemMarkIn(lines[at] ?? '');
  if (first === null) return null;
  const items: (readonly Block[])[] = [];
  let next = at;
  for (;;) {
    const mark = itemMarkIn(lines[next] ?? '');
    const isOfList =
      mark !== null &&
      mark.indent < first.indent + 2 &&
      (mark.number === null) === (first.number === null) &&
      ruleAt(lines, next) === null;
    if (!isOfList) break;
    const item = itemAt(lines, next, mark);
    items.push(parseLines(item.lines, depth + 1));
    next = item.next;
  }
  return { block: { kind: 'list', start: first.number, items }, next };
}

/** The lines of an item without their indentation, up to the next item or to text that is not indented. */
function itemAt(lines: readonly string[], at: number, { indent, width }: ItemMark) {
  const inner = [(lines[at] ?? '').slice(indent + width)];
  // The indentation of its first indented line, so that deeper lines stay deeper.
  let margin = indent + width;
  let hasMargin = false;
  let next = at + 1;
  for (; next < lines.length; next += 1) {
    const line = lines[next] ?? '';
    const isInside = indentOf(line) >= indent + 2;
    if (!isBlank(line) && !isInside && (isBlank(lines[next - 1]) || startsBlock(lines, next))) break;
    if (isInside && !hasMargin && !isBlank(line)) {
      margin = Math.min(margin, indentOf(line));
      hasMargin = true;
    }
    inner.push(line.slice(Math.min(indentOf(line), margin)));
  }
  return { lines: inner, next };
}

/** Whether a paragraph ends before this line. */
function startsBlock(lines: readonly string[], at: number): boolean {
  const line = lines[at] ?? '';
  return (
    /^ {0,3}(?:`{3}|~{3}|#{1,6}(?:\s|$)|>)/.test(line) ||
    ruleAt(lines, at) !== null ||
    itemMarkIn(line) !== null ||
    tableHeadAt(lines, at) !== null
  );
}

function paragraphAt(lines: readonly string[], at: number): Found {
  let next = at + 1;
  while (!isBlank(lines[next]) && !startsBlock(lines, next)) next += 1;
  const text = lines.slice(at, next).join('\n').trim();
  return { block: { kind: 'paragraph', content: parseInline(text) }, next };
}

type TableHead = Readonly<{ cells: readonly string[]; alignments: readonly Alignment[] }>;

function tableHeadAt(lines: readonly string[], at: number): TableHead | null {
  const [head = '', marks = ''] = [lines[at], lines[at + 1]];
  if (!head.includes('|') || !marks.includes('-') || !marks.includes('|')) return null;
  const alignments = cellsIn(marks).map(alignmentOf);
  const cells = cellsIn(head);
  if (cells.length > maxColumns || cells.length !== alignments.length) return null;
  const known = alignments.filter((alignment) => alignment !== undefined);
  return known.length === cells.length ? { cells, alignments: known } : null;
}

/** Undefined for a cell that is not part of the line below the head of a table. */
function alignmentOf(cell: string): Alignment | undefined {
  if (!/^:?-+:?$/.test(cell)) return undefined;
  if (cell.endsWith(':')) return cell.startsWith(':') ? 'center' : 'right';
  return cell.startsWith(':') ? 'left' : null;
}

function tableAt(lines: readonly string[], at: number): Found | null {
  const found = tableHeadAt(lines, at);
  if (found === null) return null;
  const { cells, alignments } = found;
  let next = at + 2;
  const rows: Cells[] = [];
  while ((lines[next] ?? '').includes('|')) {
    const row = cellsIn(lines[next] ?? '');
    rows.push(cells.map((_, place) => parseInline(row[place] ?? '')));
    next += 1;
  }
  return { block: { kind: 'table', alignments, head: cells.map(parseInline), rows }, next };
}

/** The cells of a row, whose bars at both ends are optional. A bar after a backslash is text. */
function cellsIn(line: string): readonly string[] {
  const cells = line.trim().split(/(?<!\\)\|/);
  if (cells[0] === '') cells.shift();
  if (cells.at(-1) === '') cells.pop();
  return cells.map((cell) => cell.trim().replaceAll('\\|', '|'));
}
