import type { Equivalent } from './entry.ts';

export const chat: readonly Equivalent[] = [
  {
    file: 'src/chat/billing.ts',
    within: 'toleranceOf',
    changes: ['return toleranceTokens + Math.ceil((boundTokens ⟦* → /⟧ tolerancePercent) / 100);'],
    reason: 'The tolerance is one percent, and multiplying by one is the same as dividing by it.',
  },
  {
    file: 'src/chat/input-tally.ts',
    within: 'InputTally.bound',
    changes: ['(this.#textBytes - this.#textUnits) ⟦* → /⟧ likelyTokensPerFurtherByte;'],
    reason: 'There is one token for each further byte, and multiplying by one is the same as dividing by it.',
  },
  {
    file: 'src/chat/input-tally.ts',
    within: 'InputTally.#weigh',
    changes: [
      'if (⟦this.#tokens >= this.#limit → false⟧) return;',
      'if (this.#tokens ⟦>= → >⟧ this.#limit) return;',
      'this.#tokens += weigh(text, weights, end, this.#limit ⟦- → +⟧ this.#tokens);',
    ],
    reason: 'Whatever exceeds the limit is cut to it in the end; this only spares the work of weighing more.',
  },
  {
    file: 'src/chat/completions/parse.ts',
    within: 'schema',
    changes: ['const schema = z.compile(chatRequestSchema, { strict: ⟦true → false⟧ });'],
    reason:
      'The compiled schema accepts the same either way; `strict` only asks for an error should it not compile.',
  },
  {
    file: 'src/chat/stream-progress.ts',
    within: 'StreamProgress',
    changes: ["#lastText = ⟦'' → 'mutant'⟧;"],
    reason: 'The first text counts as one, whether it is taken for a repetition of nothing or not.',
  },
  {
    file: 'src/chat/text-weights.ts',
    within: 'decomposableRanges',
    changes: ['[⟦0x80 → 129⟧, 0x3400],', '[0x80, ⟦0x3400 → 13313⟧],', '[⟦0xf900 → 63745⟧, 0x1_0000],'],
    reason: 'The unit at this border has no form that is longer than itself.',
  },
  {
    file: 'src/chat/text-weights.ts',
    within: 'decomposableRanges',
    changes: ['[0xf900, ⟦0x1_0000 → 65537⟧],'],
    reason: 'A typed array ignores what is written beyond its end.',
  },
  {
    file: 'src/chat/text-weights.ts',
    within: 'makePlainUnits',
    changes: ['const units = new Uint8Array(⟦0x1_0000 → 65537⟧).fill(3);'],
    reason: 'No UTF-16 unit is as large as that, so nobody reads the additional weight.',
  },
  {
    file: 'src/chat/text-weights.ts',
    within: 'makePlainUnits',
    changes: [
      'units.fill(1, 0, ⟦0x80 → 129⟧);',
      'units.fill(2, 0x80, ⟦0x800 → 2049⟧);',
      'units.fill(4, 0xd800, ⟦0xdc00 → 56321⟧);',
    ],
    reason: 'The additional unit gets its own weight afterwards.',
  },
  {
    file: 'src/chat/text-weights.ts',
    within: 'makePlainUnits',
    changes: [
      'for (let unit = from; unit ⟦< → <=⟧ to; unit += 1) units[unit] = Math.max(units[unit] ?? 0, maxForm(unit));',
    ],
    reason: 'The additional unit has no form that is longer than itself, or is beyond the end of the array.',
  },
  {
    file: 'src/chat/text-weights.ts',
    within: 'makePlainUnits',
    changes: [
      'for (let unit = from; unit < to; unit += 1) units[unit] = Math.max(units[unit] ?? ⟦0 → 1⟧, maxForm(unit));',
    ],
    reason: 'The array has every unit; the default is for the compiler.',
  },
];
