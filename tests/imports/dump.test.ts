/** Dumps are written in every form that a database has for them, cut anywhere, and read back. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { readDump } from '../../src/imports/dump.ts';
import { Tables } from '../../src/imports/rows.ts';

type Cell = string | null;

const columns = ['id', 'key', 'group', 'note'];
const wanted = new Map([['tokens', columns.slice(0, 3)]]);

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc
    .array(
      fc.constantFrom(
        "'",
        '"',
        '`',
        '\\',
        '\n',
        '\t',
        ';',
        '--',
        '/*',
        '*/',
        '\\.',
        '\\N',
        '(',
        '),(',
        '$$',
        'a',
      ),
      {
        maxLength: 12,
      },
    )
    .map((parts) => parts.join('')),
);
const cell: fc.Arbitrary<Cell> = fc.oneof({ weight: 4, arbitrary: text }, fc.constant(null)).map((value) =>
  // PostgreSQL and MySQL cannot have the first in a text, and line ends are not what this is about.
  value === null ? null : value.replaceAll(/[\0\r]/g, ''),
);
const rows = fc.array(fc.tuple(cell, cell, cell, cell), { maxLength: 6 });

const standard = (value: Cell) => (value === null ? 'NULL' : `'${value.replaceAll("'", "''")}'`);
const escaped = (value: Cell) =>
  value === null
    ? 'NULL'
    : `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n').replaceAll('\t', '\\t')}'`;
const copied = (value: Cell) =>
  value === null
    ? '\\N'
    : value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\t', '\\t').replaceAll('\v', '\\v');
const broken = (value: Cell) =>
  value?.includes('\n') === true && !value.includes('\\n')
    ? `replace(${standard(value.replaceAll('\n', '\\n'))},'\\n',char(10))`
    : standard(value);

type Form = (table: string, all: readonly (readonly Cell[])[]) => string;

const copy: Form = (table, all) =>
  `COPY public.${table} (id, key, "group", note) FROM stdin;\n${all.map((row) => `${row.map(copied).join('\t')}\n`).join('')}\\.\n\n`;
const columnInserts: Form = (table, all) =>
  all
    .map(
      (row) =>
        `INSERT INTO public.${table} (id, key, "group", note) VALUES (${row.map(standard).join(', ')});\n`,
    )
    .join('');
const inserts: Form = (table, all) =>
  `CREATE TABLE public.${table} (\n    id bigint NOT NULL,\n    key character(48),\n    "group" text DEFAULT ''::text,\n    note numeric(10,2),\n    CONSTRAINT c CHECK ((id > 0))\n);\n${all.map((row) => `INSERT INTO public.${table} VALUES (${row.map(standard).join(', ')});\n`).join('')}`;
const mysql: Form = (table, all) =>
  `--\n-- Table structure for table \`${table}\`\n--\n\nDROP TABLE IF EXISTS \`${table}\`;\n/*!40101 SET @saved = 1 */;\nCREATE TABLE \`${table}\` (\n  \`id\` bigint NOT NULL AUTO_INCREMENT COMMENT 'it''s, (one)',\n  \`key\` char(48),\n  \`group\` varchar(64) DEFAULT '',\n  \`note\` decimal(10,2),\n  PRIMARY KEY (\`id\`),\n  UNIQUE KEY \`idx\` (\`key\`,\`group\`)\n) ENGINE=InnoDB;\nLOCK TABLES \`${table}\` WRITE;\n${all.length === 0 ? '' : `INSERT INTO \`${table}\` VALUES ${all.map((row) => `(${row.map(escaped).join(',')})`).join(',')};\n`}UNLOCK TABLES;\n`;
const sqlite: Form = (table, all) =>
  `CREATE TABLE \`${table}\` (\`id\` integer PRIMARY KEY AUTOINCREMENT,\`key\` char(48),\`group\` text DEFAULT "",\`note\` decimal(10,2),CONSTRAINT \`c\` UNIQUE (\`key\`));\n${all.map((row) => `INSERT INTO ${table} VALUES(${row.map(broken).join(',')});\n`).join('')}CREATE INDEX \`i\` ON \`${table}\`(\`key\`);\n`;

const forms: Readonly<Record<string, { start: string; form: Form; end: string }>> = {
  'pg_dump, COPY': {
    start: '--\n-- PostgreSQL database dump\n--\n\n\\restrict abc\n\nSET x = 0;\n',
    form: copy,
    end: '\\unrestrict abc\n',
  },
  'pg_dump --column-inserts': {
    start: '-- PostgreSQL database dump\nSET x = 0;\n',
    form: columnInserts,
    end: '',
  },
  'pg_dump --inserts': {
    start: "SELECT pg_catalog.set_config('search_path', '', false);\nSET x = 0;\n",
    form: inserts,
    end: '',
  },
  mysqldump: {
    start: '-- MySQL dump 10.13\n/*!40101 SET NAMES utf8mb4 */;\n',
    form: mysql,
    end: '-- Dump completed',
  },
  'sqlite .dump': { start: 'PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n', form: sqlite, end: 'COMMIT;\n' },
};

function read(dump: string, cuts: readonly number[]): Tables {
  const tables = new Tables();
  const reader = readDump(wanted, tables);
  let at = 0;
  for (const cut of [...cuts, dump.length]
    .map((place) => Math.min(place, dump.length))
    .toSorted((a, b) => a - b)) {
    reader.feed(dump.slice(at, cut));
    at = cut;
  }
  reader.finish();
  return tables;
}

for (const [name, { start, form, end }] of Object.entries(forms)) {
  test(`${name}: the wanted columns of the wanted table, wherever the pieces are cut`, () => {
    fc.assert(
      fc.property(rows, rows, fc.array(fc.nat(3_000), { maxLength: 40 }), (mine, others, cuts) => {
        const dump = start + form('channels', others) + form('tokens', mine) + form('channels', others) + end;
        const expected = mine.map(([id, key, group]) => ({ id, key, group }));
        expect(
          read(dump, cuts)
            .of('tokens')
            .map((row) => Object.fromEntries(row) as unknown),
        ).toEqual(expected);
        expect(read(dump, cuts).has('channels')).toBe(false);
      }),
      { numRuns: 200 },
    );
  });
}

describe('a dump', () => {
  const all = (dump: string) => read(dump, []);
  const values = (dump: string) =>
    all(dump)
      .of('tokens')
      .map((row) => [...row.values()]);

  test('with the other ways to write a value', () => {
    const insert = (value: string) => `SET x = 0;\nINSERT INTO tokens (id, key) VALUES (${value}, 1.5e-05);`;
    const written = [
      "E'a\\'b\\n'",
      "X'6b6579'",
      '0x6b6579',
      "_binary 'a'",
      "unistr('a\\u000ab')",
      'true',
      '-7',
      "''",
    ];
    expect(written.map((value) => values(insert(value))[0]?.[0])).toEqual([
      ...["a'b\n", 'key', 'key', 'a', 'a\nb', 'true', '-7', ''],
    ]);
    expect(values(insert('NULL'))).toEqual([[null, '1.5e-05']]);
  });

  test('with functions and comments in what is skipped, cut anywhere', () => {
    const dump =
      "SET x = 0;\nCREATE FUNCTION f() AS $body$ begin; it's $$ end; $body$ -- it's\n /* it's; */ LANGUAGE sql;\nINSERT INTO tokens (id) VALUES ('1');";
    const everywhere = Array.from({ length: dump.length }, (_, place) => place);
    expect(read(dump, everywhere).of('tokens')).toEqual([new Map([['id', '1']])]);
  });

  test('names empty tables too', () => {
    expect(
      all('-- PostgreSQL database dump\n-- Data for Name: tokens; Type: TABLE DATA;\n').has('tokens'),
    ).toBe(true);
    expect(all('-- PostgreSQL database dump\n').has('tokens')).toBe(false);
  });

  test.each([
    ['without columns', 'SET x = 0;\nINSERT INTO tokens VALUES (1);', 'does not name the columns'],
    ['of an unknown database', "INSERT INTO tokens (id) VALUES ('a\\b');", 'unclear which database'],
    ['cut in a value', "SET x = 0;\nINSERT INTO tokens (id) VALUES ('sk-secret", 'ends in the middle'],
    ['cut in a table', 'COPY tokens (id) FROM stdin;\nsk-secret\n', 'ends in the middle'],
    ['cut in a table of any name', 'COPY "a\u001b[2Jb" (id) FROM stdin;\nx\n', 'in the middle of a [2Jb.'],
    [
      'with a row that is too short',
      'COPY tokens (id, key) FROM stdin;\nsk-secret\n\\.\n',
      '1 values for 2 columns',
    ],
    ['with an expression', 'SET x = 0;\nINSERT INTO tokens (id) VALUES (now());', 'cannot be read'],
  ])('%s is refused, and nothing of it is repeated', (_, dump, message) => {
    const failure = (() => {
      try {
        return String(all(dump));
      } catch (error) {
        return String(error);
      }
    })();
    expect(failure).toContain(message);
    expect(failure).not.toContain('sk-secret');
  });

  test('of any size is skipped in little memory', () => {
    const tables = new Tables();
    const reader = readDump(wanted, tables);
    reader.feed("-- MySQL dump\nINSERT INTO logs VALUES ('");
    const piece = `it\\'s \\\\ ; -- ${'x'.repeat(1_000_000)}`;
    for (let count = 0; count < 40; count += 1) reader.feed(piece);
    reader.feed("');\nINSERT INTO tokens (id) VALUES ('1');");
    reader.finish();
    expect(tables.of('tokens')).toHaveLength(1);
    const endless = readDump(wanted, tables);
    endless.feed("-- MySQL dump\nINSERT INTO tokens (id) VALUES ('");
    expect(() => {
      for (let count = 0; count < 40; count += 1) endless.feed(piece);
    }).toThrow('more than 8000000 characters');
  });
});
