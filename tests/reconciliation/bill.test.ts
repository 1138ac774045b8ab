/** Reading bills: amounts to the last digit, names of models, files. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { formatMoney, parseMoney } from '../../src/lib/money.ts';
import { readAmount } from '../../src/reconciliation/amount.ts';
import { mergeLines, sumOf } from '../../src/reconciliation/bill.ts';
import { readBillFile, readCsv } from '../../src/reconciliation/bill-file.ts';
import { matchModel } from '../../src/reconciliation/model-names.ts';
import { readLineItem } from '../../src/reconciliation/openai-costs.ts';

describe('an amount', () => {
  test.each([
    ['12.345678901234567', 'dollars', '12.345678901235'],
    ['1234.5678', 'cents', '12.345678000000'],
    ['123.45', 'cents', '1.234500000000'],
    ['0.06', 'dollars', '0.060000000000'],
    ['1.5e-7', 'dollars', '0.000000150000'],
    ['1.5E+2', 'cents', '1.500000000000'],
    ['-0.5', 'dollars', '-0.500000000000'],
    ['0.0000000000005', 'dollars', '0.000000000001'],
    ['-0.0000000000004', 'dollars', '0.000000000000'],
  ] as const)('of %s %s is %s', (text, unit, expected) => {
    const money = readAmount(text, unit);
    expect(money === null ? null : formatMoney(money)).toBe(expected);
  });

  test.each([
    '',
    '.5',
    '1.',
    '+1',
    '1,5',
    '$1',
    'NaN',
    'Infinity',
    '1e999',
    '0x10',
    '1 ',
    '9'.repeat(31),
    '1e14',
  ])('cannot be %p', (text) => expect(readAmount(text, 'dollars')).toBeNull());

  test('is what the same digits are as money, and a hundredth of that in cents', () => {
    fc.assert(
      fc.property(fc.bigInt(-(10n ** 20n), 10n ** 20n), (units) => {
        const text = formatMoney(units);
        expect(readAmount(text, 'dollars')).toBe(parseMoney(text));
        const [whole = '', fraction = ''] = text.split('.');
        const shifted = `${whole}${fraction.slice(0, 2)}.${fraction.slice(2)}`;
        expect(readAmount(shifted, 'cents')).toBe(units);
      }),
    );
  });
});

describe('the name of a model on a bill', () => {
  const catalogue = ['gpt-6', 'gpt-6-mini', 'claude-opus-5-5-20260901', 'Sonar', 'a-20250101', 'a-20260101'];

  test.each([
    ['gpt-6', 'gpt-6'],
    ['gpt-6-2026-05-01', 'gpt-6'],
    ['gpt-6-0613', 'gpt-6'],
    ['gpt-6-latest', 'gpt-6'],
    ['gpt-6-mini-2026-05-01', 'gpt-6-mini'],
    ['claude-opus-5-5', 'claude-opus-5-5-20260901'],
    ['sonar', 'Sonar'],
    // Another model, and not a revision of one.
    ['gpt-6-nano', null],
    ['gpt-6-preview', null],
    ['gpt', null],
    // Two could be meant.
    ['a', null],
    ['__proto__', null],
  ])('%s means %p', (name, expected) => {
    expect(matchModel(name, catalogue)).toBe(expected);
  });

  test('is never taken for a model that is not there, and a known name stays itself', () => {
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[a-c0-9-]{1,12}$/)),
        fc.stringMatching(/^[a-c0-9-]{1,14}$/),
        (names, name) => {
          const found = matchModel(name, names);
          expect(found === null || names.includes(found)).toBe(true);
          if (names.includes(name)) expect(found).toBe(name);
        },
      ),
    );
  });

  test('is split from its meter at the last comma', () => {
    expect(readLineItem('gpt-6-astra, input_tokens')).toEqual({
      name: 'gpt-6-astra',
      isModel: true,
      meter: 'input_tokens',
    });
    expect(readLineItem('a, b, c')).toMatchObject({ name: 'a, b', meter: 'c' });
    expect(readLineItem('Text tokens')).toEqual({ name: 'Text tokens', isModel: false, meter: null });
  });
});

test('lines of one name and meter become one, and nothing of the sum is lost', () => {
  const line = fc.record({
    name: fc.constantFrom('a', 'b', '__proto__'),
    isModel: fc.boolean(),
    meter: fc.constantFrom(null, 'x', 'y'),
    amount: fc.bigInt(-1000n, 1000n),
    listAmount: fc.constantFrom(null, 5n),
    quantity: fc.constantFrom(null, '7'),
  });
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      const merged = mergeLines(lines);
      expect(sumOf(merged)).toBe(sumOf(lines));
      const keys = merged.map(({ name, isModel, meter }) => JSON.stringify([name, isModel, meter]));
      expect(new Set(keys).size).toBe(keys.length);
      expect(mergeLines(lines.toReversed())).toEqual(merged);
    }),
  );
});

describe('a file', () => {
  const read = (text: string) => readBillFile(text, '2026-11-01', '2026-11-30').days;

  test('has a line for each day and model, in any order of columns', () => {
    const days = read(
      '\uFEFFamount,day,model,currency,meter,quantity\r\n1.50,2026-11-02,gpt-6,USD,input,100\r\n0.25,2026-11-02,gpt-6,usd,input,20\r\n2,2026-11-03,,,,\n\n0,2026-11-04,"a, ""b""",USD,,\n9,2026-12-01,late,USD,,\n',
    );
    expect([...days.keys()]).toEqual(['2026-11-02', '2026-11-03', '2026-11-04']);
    expect(days.get('2026-11-02')).toEqual([
      {
        name: 'gpt-6',
        isModel: true,
        meter: 'input',
        amount: 1_750_000_000_000n,
        listAmount: null,
        quantity: '120',
      },
    ]);
    expect(days.get('2026-11-03')).toMatchObject([{ name: 'not by model', isModel: false }]);
    expect(days.get('2026-11-04')).toMatchObject([{ name: 'a, "b"', amount: 0n }]);
  });

  test.each([
    ['', 'empty'],
    ['day,model\n', 'the column amount is missing'],
    ['day,amount,price\n', '"price" is not one of the columns'],
    ['day,day,amount\n', 'occurs twice'],
    ['day,amount\n2026-11-01\n', 'Line 2: it has 1 cells'],
    ['day,amount\n1.11.2026,5\n', 'Line 2: the day'],
    ['day,amount\n2026-02-30,5\n', 'Line 2: the day'],
    ['day,amount\n2026-11-01,$5\n', 'Line 2: the amount'],
    ['day,amount,currency\n2026-11-01,5,USD\n2026-11-01,5,EUR\n', 'Line 3: the currency is not USD'],
    ['day,amount\n2026-11-01,"5\n', 'Line 2: a quote'],
  ])('like %p says what is wrong', (text, words) => {
    expect(() => read(text)).toThrow(words);
  });

  test('with more names than any provider has is refused', () => {
    const lines = Array.from({ length: 5_001 }, (_, at) => `2026-11-01,model-${at},1`);
    expect(() => read(['day,model,amount', ...lines].join('\n'))).toThrow('more than 5000 different lines');
    expect(read(['day,model,amount', ...lines.slice(1)].join('\n')).get('2026-11-01')).toHaveLength(5_000);
  });

  test('holds whatever was written to it', () => {
    const cell = fc.string().filter((text) => text !== '' && !text.includes('\0'));
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell), { minLength: 1 }), (rows) => {
        const quote = (text: string) => `"${text.replaceAll('"', '""')}"`;
        const text = rows.map((cells) => cells.map(quote).join(',')).join('\r\n');
        expect(readCsv(text).map(({ cells }) => [...cells])).toEqual(rows.map((cells) => [...cells]));
      }),
    );
  });
});
