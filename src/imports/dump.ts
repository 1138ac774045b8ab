/**
 * The rows of some tables in a dump: pg_dump (COPY or INSERT), mysqldump, or `.dump` of sqlite3. Where INSERT does not name its
 * columns, the CREATE TABLE before it does.
 */
import { OperatorError } from '../lib/operator-error.ts';
import { DumpLexer, type Reading, type Token } from './dump-lexer.ts';
import type { Row, Tables, Wanted } from './rows.ts';
import { lineOf } from './values.ts';

/** Feed it pieces of the text, in order, and then finish it. */
export type DumpReader = Readonly<{ feed: (text: string) => void; finish: () => void }>;

export function readDump(wanted: Wanted, tables: Tables): DumpReader {
  const lexer = new DumpLexer();
  const run = new DumpParser(lexer, wanted, tables).statements();
  return {
    feed: (text) => {
      lexer.feed(text);
      run.next();
    },
    finish: () => {
      lexer.finish();
      if (run.next().done !== true) throw new OperatorError('The dump ends too early.');
    },
  };
}

class DumpParser {
  readonly #lexer: DumpLexer;
  readonly #wanted: Wanted;
  readonly #tables: Tables;
  readonly #created = new Map<string, readonly string[]>();

  constructor(lexer: DumpLexer, wanted: Wanted, tables: Tables) {
    this.#lexer = lexer;
    this.#wanted = wanted;
    this.#tables = tables;
  }

  *statements(): Reading<void> {
    for (;;) {
      yield* this.#lexer.skipSpace();
      const start = yield* this.#lexer.peek(2);
      if (start === '') return;
      if (start === '--') this.#note((yield* this.#lexer.line()) ?? '');
      else if (start === '/*') this.#note(yield* this.#lexer.comment());
      // A command of psql, such as \restrict.
      else if (start.startsWith('\\')) yield* this.#lexer.line(true);
      else yield* this.#statement();
    }
  }

  /** Comments tell which database wrote the dump, and name tables that have no rows. */
  #note(comment: string): void {
    if (/^(-- (MySQL|MariaDB) dump|\/\*M?!)/.test(comment)) this.#lexer.hasBackslashes = true;
    if (comment.startsWith('-- PostgreSQL database dump')) this.#lexer.hasBackslashes ??= false;
    const table = /^-- (?:Data for Name: (.+?);|(?:Dumping data|Table structure) for table `(.+)`)/.exec(
      comment,
    );
    this.#found(table?.[1] ?? table?.[2] ?? '');
  }

  #found(table: string): void {
    if (this.#wanted.has(table)) this.#tables.found(table);
  }

  *#statement(): Reading<void> {
    const first = yield* this.#lexer.token();
    const word = first.kind === 'word' ? first.text.toUpperCase() : '';
    if (word === 'INSERT' || word === 'REPLACE') yield* this.#insert();
    else if (word === 'COPY') yield* this.#copy();
    else if (word === 'CREATE') yield* this.#create();
    else if (first.text !== ';') {
      // Only SQLite has the first, and of the three only PostgreSQL has the second outside of comments.
      if (word === 'PRAGMA' || word === 'SET') this.#lexer.hasBackslashes ??= false;
      yield* this.#lexer.skipStatement();
    }
  }

  *#insert(): Reading<void> {
    let next = yield* this.#lexer.token();
    while (next.kind === 'word' && next.text.toUpperCase() !== 'INTO') next = yield* this.#lexer.token();
    const { table, after } = yield* this.#tableName();
    if (!this.#wanted.has(table)) return yield* this.#skipFrom(after);
    this.#found(table);
    const named = after.text === '(' ? yield* this.#columnList() : null;
    const columns = named ?? this.#created.get(table);
    if (columns === undefined) throw noColumns(table);
    let word = named === null ? after : yield* this.#lexer.token();
    while (word.kind === 'word' && word.text.toUpperCase() !== 'VALUES') word = yield* this.#lexer.token();
    if (word.kind !== 'word') throw unreadable(table);
    yield* this.#tuples(table, columns);
  }

  *#tuples(table: string, columns: readonly string[]): Reading<void> {
    for (;;) {
      const opening = yield* this.#lexer.token();
      if (opening.text !== '(') throw unreadable(table);
      const values: (string | null)[] = [];
      for (;;) {
        values.push(yield* this.#value(table, yield* this.#lexer.token()));
        const next = yield* this.#lexer.token();
        if (next.text === ')') break;
        if (next.text !== ',') throw unreadable(table);
      }
      this.#add(table, columns, values);
      const next = yield* this.#lexer.token();
      if (next.text === ',') continue;
      // What a statement says about conflicts does not matter.
      if (next.text !== ';') yield* this.#skipFrom(next);
      return;
    }
  }

  *#value(table: string, token: Token): Reading<string | null> {
    if (token.kind === 'text') return token.text;
    if (token.kind === 'number') return /^0x/i.test(token.text) ? fromHex(token.text.slice(2)) : token.text;
    if (token.kind !== 'word') throw unreadable(table);
    const word = token.text.toUpperCase();
    if (word === 'NULL') return null;
    if (word === 'TRUE' || word === 'FALSE') return token.text.toLowerCase();
    const next = yield* this.#lexer.peek();
    if (next === '(') return yield* this.#call(table, word);
    if (word === '_BINARY') return yield* this.#value(table, yield* this.#lexer.token());
    if (next !== "'") throw unreadable(table);
    if (word === 'E') return yield* this.#lexer.quoted("'", true);
    const text = yield* this.#lexer.quoted("'", false);
    if (word === 'X') return fromHex(text);
    if (word === 'B') return `${Number.parseInt(text, 2)}`;
    throw unreadable(table);
  }

  /** How sqlite3 writes texts with line breaks. */
  *#call(table: string, name: string): Reading<string> {
    this.#lexer.advance(1);
    const values: string[] = [];
    for (;;) {
      values.push((yield* this.#value(table, yield* this.#lexer.token())) ?? '');
      const next = yield* this.#lexer.token();
      if (next.text === ')') break;
      if (next.text !== ',') throw unreadable(table);
    }
    const [text = '', from = '', to = ''] = values;
    if (name === 'REPLACE' && from !== '') return text.replaceAll(from, () => to);
    if (name === 'CHAR') return String.fromCodePoint(...values.map((code) => Number(code) & 0x1f_ffff));
    if (name === 'UNISTR')
      return text.replaceAll(/\\(?:u([0-9a-f]{4})|\+([0-9a-f]{6})|\\)/gi, (whole, short, long) =>
        whole === '\\\\' ? '\\' : String.fromCodePoint(Number.parseInt(short ?? long, 16)),
      );
    throw unreadable(table);
  }

  *#copy(): Reading<void> {
    // Only PostgreSQL has this statement.
    this.#lexer.hasBackslashes ??= false;
    const { table, after } = yield* this.#tableName();
    const columns = after.text === '(' ? yield* this.#columnList() : null;
    yield* this.#skipFrom(columns === null ? after : yield* this.#lexer.token());
    yield* this.#lexer.line(true);
    const isWanted = this.#wanted.has(table);
    if (isWanted && columns === null) throw noColumns(table);
    this.#found(table);
    for (;;) {
      const line = yield* this.#lexer.line(!isWanted);
      if (line === null)
        throw new OperatorError(`The dump ends in the middle of ${lineOf(table) ?? 'a table'}.`);
      if (line === '\\.') return;
      if (isWanted) this.#add(table, columns ?? [], line.split('\t').map(copiedValue));
    }
  }

  *#create(): Reading<void> {
    let word = yield* this.#lexer.token();
    while (word.kind === 'word' && /^(TEMP|TEMPORARY|UNLOGGED)$/i.test(word.text))
      word = yield* this.#lexer.token();
    if (word.text.toUpperCase() !== 'TABLE') return yield* this.#skipFrom(word);
    const { table, after } = yield* this.#tableName();
    if (!this.#wanted.has(table) || after.text !== '(') return yield* this.#skipFrom(after);
    this.#found(table);
    this.#created.set(table, yield* this.#definedColumns());
    yield* this.#lexer.skipStatement();
  }

  /** The first name of each part between the outer parentheses, unless it begins a constraint. */
  *#definedColumns(): Reading<string[]> {
    const columns: string[] = [];
    let depth = 1;
    let isFirst = true;
    while (depth > 0) {
      const token = yield* this.#lexer.token();
      if (token.kind === 'end') throw new OperatorError('The dump ends too early.');
      if (isFirst && (token.kind === 'name' || (token.kind === 'word' && !this.#isConstraint(token.text))))
        columns.push(token.text);
      isFirst = depth === 1 && token.kind === 'symbol' && token.text === ',';
      if (token.kind === 'symbol' && token.text === '(') depth += 1;
      if (token.kind === 'symbol' && token.text === ')') depth -= 1;
    }
    return columns;
  }

  #isConstraint(word: string): boolean {
    // MySQL quotes the names of columns, and PostgreSQL has none of its keys here; `key` is a column of it.
    return (
      this.#lexer.hasBackslashes === true ||
      /^(PRIMARY|UNIQUE|CONSTRAINT|CHECK|FOREIGN|EXCLUDE|LIKE)$/i.test(word)
    );
  }

  /** The last part of a name, which may have a schema before it. */
  *#tableName(): Reading<Readonly<{ table: string; after: Token }>> {
    for (;;) {
      const name = yield* this.#lexer.token();
      if (name.kind === 'word' && /^(IF|NOT|EXISTS|ONLY)$/i.test(name.text)) continue;
      const after = yield* this.#lexer.token();
      if (after.text !== '.') return { table: name.text, after };
    }
  }

  *#columnList(): Reading<string[]> {
    const columns: string[] = [];
    for (;;) {
      const token = yield* this.#lexer.token();
      if (token.kind === 'word' || token.kind === 'name') columns.push(token.text);
      else if (token.text === ')') return columns;
      else if (token.text !== ',')
        throw new OperatorError('The dump has a list of columns that cannot be read.');
    }
  }

  *#skipFrom(token: Token): Reading<void> {
    if (token.text !== ';' || token.kind !== 'symbol') yield* this.#lexer.skipStatement();
  }

  #add(table: string, columns: readonly string[], values: readonly (string | null)[]): void {
    if (values.length !== columns.length)
      throw new OperatorError(`A row of ${table} has ${values.length} values for ${columns.length} columns.`);
    const wanted = this.#wanted.get(table) ?? [];
    const row: Row = new Map(
      columns.flatMap((column, place) => (wanted.includes(column) ? [[column, values[place] ?? null]] : [])),
    );
    this.#tables.add(table, row);
  }
}

const copyEscapes: ReadonlyMap<string, string> = new Map([
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
]);

function copiedValue(text: string): string | null {
  if (text === '\\N') return null;
  return text.replaceAll(
    /\\(?:x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|(.))/g,
    (_, hex: string | undefined, octal: string | undefined, other: string | undefined) => {
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 0xff);
      return copyEscapes.get(other ?? '') ?? other ?? '';
    },
  );
}

function fromHex(digits: string): string {
  return Buffer.from(digits, 'hex').toString();
}

function noColumns(table: string): OperatorError {
  return new OperatorError(
    `The dump does not name the columns of ${table}. Make it with --complete-insert (mysqldump) or --column-inserts (pg_dump), or leave CREATE TABLE in it.`,
  );
}

/** Says nothing of the row: a dump is full of secrets. */
function unreadable(table: string): OperatorError {
  return new OperatorError(`The dump has a row of ${table} that cannot be read.`);
}
