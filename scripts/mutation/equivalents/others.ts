import type { Equivalent } from './entry.ts';

export const others: readonly Equivalent[] = [
  {
    file: 'src/generations/cursor.ts',
    within: 'decodeCursor',
    changes: [
      "return payload.toString('hex', 9).replace(⟦/^(.{8})(.{4})(.{4})(.{4})(.{12})$/ → /(.{8})(.{4})(.{4})(.{4})(.{12})$/⟧, '$1-$2-$3-$4-$5');",
      "return payload.toString('hex', 9).replace(⟦/^(.{8})(.{4})(.{4})(.{4})(.{12})$/ → /^(.{8})(.{4})(.{4})(.{4})(.{12})/⟧, '$1-$2-$3-$4-$5');",
    ],
    reason: 'The text always has the 32 digits of a UUID, all of which the pattern covers.',
  },
  {
    file: 'src/json/canonical.ts',
    within: 'CanonicalJson.#begin',
    changes: ["} else if (typeof value === 'string' && value.length ⟦> → >=⟧ sliceLength) {"],
    reason: 'The text is written as the same JSON either way.',
  },
  {
    file: 'src/json/canonical.ts',
    within: 'CanonicalJson.#writeRest',
    changes: ["while (/[\\ud800-\\udbff]/.test(text[end - 1] ?? ⟦'' → 'mutant'⟧)) end += 1;"],
    reason: 'Neither of them is half of a surrogate pair.',
  },
  {
    file: 'src/idempotency/encryption.ts',
    within: 'encrypt',
    changes: ['for (let index = 0, at = saltBytes; index ⟦< → <=⟧ pieceCount; index++) {'],
    reason: 'The additional piece is empty, and there is no room for its tag.',
  },
  {
    file: 'src/idempotency/encryption.ts',
    within: 'encrypt',
    changes: ['if (index % piecesPerTurn === piecesPerTurn - ⟦1 → 2⟧) await setImmediate();'],
    reason: 'How often others get their turn is a matter of milliseconds.',
  },
  {
    file: 'src/idempotency/encryption.ts',
    within: 'piecesPerTurn',
    changes: ['const piecesPerTurn = ⟦32 → 33⟧;'],
    reason: 'How often others get their turn is a matter of milliseconds.',
  },
  {
    file: 'src/idempotency/request-hash.ts',
    within: 'slicesAtOnce',
    changes: ['const slicesAtOnce = ⟦8 → 9⟧;'],
    reason: 'How often others get their turn is a matter of milliseconds.',
  },
  {
    file: 'src/idempotency/request-hash.ts',
    within: 'queue',
    changes: ['const queue = new BoundedQueue({ maxRunning: 1, maxWaiting: ⟦10_000 → 10001⟧ });'],
    reason: 'The budget for body bytes is used up long before the queue is full.',
  },
  {
    file: 'src/idempotency/request-hash.ts',
    within: 'hashNext',
    changes: [
      'for (let sliceCount = ⟦0 → 1⟧; sliceCount < slicesAtOnce; sliceCount++) {',
      'for (let sliceCount = 0; sliceCount ⟦< → <=⟧ slicesAtOnce; sliceCount++) {',
    ],
    reason: 'How often others get their turn is a matter of milliseconds.',
  },
  {
    file: 'src/images/parse.ts',
    within: 'schema',
    changes: ['const schema = z.compile(imageRequestSchema, { strict: ⟦true → false⟧ });'],
    reason:
      'The compiled schema accepts the same either way; `strict` only asks for an error should it not compile.',
  },
  {
    file: 'src/ledger/decide.ts',
    within: 'smaller',
    changes: ['return one ⟦< → <=⟧ other ? one : other;'],
    reason: 'Of two equal values either is the right one.',
  },
  {
    file: 'src/ledger/decide.ts',
    within: 'larger',
    changes: ['return one ⟦> → >=⟧ other ? one : other;'],
    reason: 'Of two equal values either is the right one.',
  },
  {
    file: 'src/ledger/decide.ts',
    within: 'decideArrival',
    changes: [
      "if (tooEarlyMs ⟦> → >=⟧ 0.001) return deny('rate_limit_exceeded', rate, { retryAfterMs: tooEarlyMs });",
    ],
    reason: 'No difference of two times in milliseconds is exactly 0.001 in floating point.',
  },
  {
    file: 'src/ledger/settlement.ts',
    within: 'money',
    changes: ['.regex(⟦/^-?\\d{1,38}n$/ → /^-?\\d{1,38}n/⟧)'],
    reason: 'BigInt rejects whatever has an n in it, and then the line is no settlement either.',
  },
  {
    file: 'src/pricing/cost.ts',
    within: 'largest',
    changes: ['return one ⟦> → >=⟧ other ? one : other;'],
    reason: 'Of two equal values either is the right one.',
  },
  {
    file: 'src/pricing/cost.ts',
    within: 'tokensWithin',
    changes: ['return tokens ⟦< → <=⟧ BigInt(max) ? Number(tokens) : max;'],
    reason: 'Of two equal values either is the right one.',
  },
  {
    file: 'src/pricing/cost.ts',
    within: 'isOffPeak',
    changes: ['return start ⟦< → <=⟧ end ? start <= time && time < end : start <= time || time < end;'],
    reason: 'The catalogue refuses a band that starts when it ends.',
  },
  {
    file: 'src/pricing/cost.ts',
    within: 'clockIn',
    changes: ['if (⟦clock === undefined → true⟧) {', '⟦clocks.set(timezone, clock); → ;⟧'],
    reason: 'The cache only saves time.',
  },
  {
    file: 'src/keys/refusals.ts',
    within: 'maxSubjects',
    changes: ['const maxSubjects = ⟦10_000 → 10001⟧;'],
    reason: 'How many are remembered is a matter of memory.',
  },
  {
    file: 'src/keys/refusals.ts',
    within: 'Refusals.#count',
    changes: [
      'const arrivalMs = Math.max(nowMs, table.get(subject)?.arrivalMs ?? ⟦0 → 1⟧) + minuteMs / perMinute;',
    ],
    reason: 'The clock has run for longer than a millisecond.',
  },
];
