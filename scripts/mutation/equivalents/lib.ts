import type { Equivalent } from './entry.ts';

export const lib: readonly Equivalent[] = [
  {
    file: 'src/lib/bounded-queue.ts',
    within: 'BoundedQueue.#remove',
    changes: ['const place = tasks.⟦indexOf → lastIndexOf⟧(start);'],
    reason: 'Every task is in the list once.',
  },
  {
    file: 'src/lib/bounded-queue.ts',
    within: 'BoundedQueue.#remove',
    changes: ['if (place < 0) return ⟦false → true⟧;'],
    reason: 'The promise of a task that has been started is resolved, and can no longer be rejected.',
  },
  {
    file: 'src/json/scan.ts',
    within: 'measureJson',
    changes: ['for (let at = 0; at ⟦< → <=⟧ text.length; at++) {'],
    reason: 'Beyond the end there is no character that means anything.',
  },
  {
    file: 'src/json/scan.ts',
    within: 'measureJson',
    changes: ['if (++depth ⟦> → >=⟧ deepest) deepest = depth;'],
    reason: 'Of two equal values either is the right one.',
  },
  {
    file: 'src/json/scan.ts',
    within: 'endOfString',
    changes: [
      "while (close ⟦>= → >⟧ 0 && isEscaped(text, close, open + 1)) close = text.indexOf('\"', close + 1);",
      "while (close >= ⟦0 → 1⟧ && isEscaped(text, close, open + 1)) close = text.indexOf('\"', close + 1);",
      'return close ⟦< → <=⟧ 0 ? text.length : close;',
      'return close < ⟦0 → 1⟧ ? text.length : close;',
    ],
    reason: 'The search starts after the opening quote, so it never finds one at the start of the text.',
  },
  {
    file: 'src/json/scan.ts',
    within: 'endOfString',
    changes: [
      "while (close >= 0 && isEscaped(text, close, open ⟦+ → -⟧ 1)) close = text.indexOf('\"', close + 1);",
    ],
    reason: 'The opening quote is not a backslash, so counting ends there anyway.',
  },
  {
    file: 'src/json/scan.ts',
    within: 'isEscaped',
    changes: ['return (place ⟦- → +⟧ before) % 2 === 1;'],
    reason: 'The sum of two numbers is odd when their difference is.',
  },
  {
    file: 'src/lib/money.ts',
    within: 'formatMoney',
    changes: [
      'const magnitude = money ⟦< → <=⟧ 0n ? -money : money;',
      'const magnitude = money < ⟦0n → 1n⟧ ? -money : money;',
    ],
    reason: 'Zero is the same with either sign.',
  },
  {
    file: 'src/lib/money.ts',
    within: 'parseMoney',
    changes: ["const [, sign, whole = ⟦'0' → ''⟧, fraction = ''] = match;"],
    reason: 'The pattern always has this group; the default is for the compiler.',
  },
  {
    file: 'src/lib/retry-after.ts',
    within: 'readRetryAfter',
    changes: ["const text = header?.trim() ?? ⟦'' → 'mutant'⟧;"],
    reason: 'Neither of them is a number or a date.',
  },
  {
    file: 'src/lib/retry-after.ts',
    within: 'readDate',
    changes: [
      "const { year = ⟦'' → 'mutant'⟧, month: name = '', day, hour, minute, second } = parts;",
      "const { year = '', month: name = ⟦'' → 'mutant'⟧, day, hour, minute, second } = parts;",
    ],
    reason: 'The pattern always has this group; the default is for the compiler.',
  },
  {
    file: 'src/lib/retry-after.ts',
    within: 'readDate',
    changes: [
      'const date = [fullYear, months.⟦indexOf → lastIndexOf⟧(name), Number(day), Number(hour), Number(minute)] as const;',
    ],
    reason: 'Every month is in the list once.',
  },
  {
    file: 'src/lib/sse.ts',
    within: 'SseParser.push',
    changes: [
      "let text = ⟦this.#rest === '' → false⟧ ? piece : this.#rest + piece;",
      "let text = this.#rest === ⟦'' → 'mutant'⟧ ? piece : this.#rest + piece;",
      "if (⟦text.includes('\\r') → true⟧) text = text.slice(0, text.length - half.length).replace(/\\r\\n?/g, '\\n');",
      "if (text.includes(⟦'\\r' → ''⟧)) text = text.slice(0, text.length - half.length).replace(/\\r\\n?/g, '\\n');",
    ],
    reason: 'It only spares a copy of the text.',
  },
  {
    file: 'src/lib/sse.ts',
    within: 'SseParser.push',
    changes: ["⟦this.#rest = (line === '' ? '' : ':') + half; → ;⟧"],
    reason: 'The line is skipped either way. What it costs is memory, and only gigabytes of it would show.',
  },
  {
    file: 'src/lib/sse.ts',
    within: 'SseParser.#takeLine',
    changes: ["const value = ⟦from < end → true⟧ ? text.slice(from, end) : '';"],
    reason: 'A slice that ends before it starts is empty.',
  },
  {
    file: 'src/lib/sse.ts',
    within: 'SseParser.#takeLine',
    changes: ["const value = from ⟦< → <=⟧ end ? text.slice(from, end) : '';"],
    reason: 'A slice that ends where it starts is empty.',
  },
  {
    file: 'src/lib/recent-map.ts',
    within: 'RecentMap.set',
    changes: ["const [oldest = ⟦'' → 'mutant'⟧] = this.#values.keys();"],
    reason: 'A map that is too large is not empty.',
  },
];
