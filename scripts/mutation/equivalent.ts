/** Mutants that no test can kill, because nothing that anyone relies on differs, each with the reason. */
import type { Mutant } from './mutants.ts';

type Equivalent = Readonly<Pick<Mutant, 'file' | 'within' | 'change'> & { reason: string }>;

export const equivalents: readonly Equivalent[] = [
  {
    file: 'src/chat/parse.ts',
    within: 'schema',
    change: 'const schema = z.compile(chatRequestSchema, { strict: ⟦true → false⟧ });',
    reason:
      'The compiled schema accepts the same either way; `strict` only asks for an error should it not compile.',
  },
  {
    file: 'src/generations/cursor.ts',
    within: 'decodeCursor',
    change:
      "return payload.toString('hex', 9).replace(⟦/^(.{8})(.{4})(.{4})(.{4})(.{12})$/ → /(.{8})(.{4})(.{4})(.{4})(.{12})$/⟧, '$1-$2-$3-$4-$5');",
    reason: 'The text always has the 32 digits of a UUID, all of which the pattern covers.',
  },
  {
    file: 'src/generations/cursor.ts',
    within: 'decodeCursor',
    change:
      "return payload.toString('hex', 9).replace(⟦/^(.{8})(.{4})(.{4})(.{4})(.{12})$/ → /^(.{8})(.{4})(.{4})(.{4})(.{12})/⟧, '$1-$2-$3-$4-$5');",
    reason: 'The text always has the 32 digits of a UUID, all of which the pattern covers.',
  },
  {
    file: 'src/http/json-path.ts',
    within: 'formatStep',
    change: 'const shown = ⟦step.slice(0, maxShown + 1) → step⟧;',
    reason: 'The whole path is cut again afterwards; this only spares the work on a long name.',
  },
  {
    file: 'src/idempotency/encryption.ts',
    within: 'piecesPerTurn',
    change: 'const piecesPerTurn = ⟦32 → 33⟧;',
    reason: 'How often others get their turn is a matter of milliseconds.',
  },
  {
    file: 'src/images/parse.ts',
    within: 'schema',
    change: 'const schema = z.compile(imageRequestSchema, { strict: ⟦true → false⟧ });',
    reason:
      'The compiled schema accepts the same either way; `strict` only asks for an error should it not compile.',
  },
  {
    file: 'src/ledger/decide.ts',
    within: 'smaller',
    change: 'return one ⟦< → <=⟧ other ? one : other;',
    reason: 'Of two equal values either is the right one.',
  },
  {
    file: 'src/ledger/decide.ts',
    within: 'larger',
    change: 'return one ⟦> → >=⟧ other ? one : other;',
    reason: 'Of two equal values either is the right one.',
  },
  {
    file: 'src/ledger/decide.ts',
    within: 'decideArrival',
    change:
      "if (tooEarlyMs ⟦> → >=⟧ 0.001) return deny('rate_limit_exceeded', rate, { retryAfterMs: tooEarlyMs });",
    reason: 'No difference of two times in milliseconds is exactly 0.001 in floating point.',
  },
  {
    file: 'src/lib/bounded-queue.ts',
    within: 'BoundedQueue.#remove',
    change: 'if (place < 0) return ⟦false → true⟧;',
    reason: 'The promise of a task that has been started is resolved, and cannot be rejected any more.',
  },
  {
    file: 'src/lib/money.ts',
    within: 'parseMoney',
    change: "const [, sign, whole = ⟦'0' → ''⟧, fraction = ''] = match;",
    reason: 'The pattern always has this group; the default is for the compiler.',
  },
  {
    file: 'src/lib/sse.ts',
    within: 'SseParser.push',
    change: "let text = ⟦this.#rest === '' → false⟧ ? piece : this.#rest + piece;",
    reason: 'It only spares a copy of the text.',
  },
  {
    file: 'src/lib/sse.ts',
    within: 'SseParser.push',
    change: "let text = this.#rest === ⟦'' → 'mutant'⟧ ? piece : this.#rest + piece;",
    reason: 'It only spares a copy of the text.',
  },
  {
    file: 'src/lib/sse.ts',
    within: 'SseParser.push',
    change:
      "if (⟦text.includes('\\r') → true⟧) text = text.slice(0, text.length - half.length).replace(/\\r\\n?/g, '\\n');",
    reason: 'It only spares a copy of the text.',
  },
  {
    file: 'src/lib/sse.ts',
    within: 'SseParser.push',
    change:
      "if (text.includes(⟦'\\r' → ''⟧)) text = text.slice(0, text.length - half.length).replace(/\\r\\n?/g, '\\n');",
    reason: 'It only spares a copy of the text.',
  },
  {
    file: 'src/lib/sse.ts',
    within: 'SseParser.push',
    change: "⟦this.#rest = (line === '' ? '' : ':') + half; → ;⟧",
    reason: 'The line is skipped either way. What it costs is memory, and only gigabytes of it would show.',
  },
  {
    file: 'src/lib/sse.ts',
    within: 'SseParser.#takeLine',
    change: "const value = ⟦from < end → true⟧ ? text.slice(from, end) : '';",
    reason: 'A slice that ends before it starts is empty.',
  },
  {
    file: 'src/lib/sse.ts',
    within: 'SseParser.#takeLine',
    change: "const value = from ⟦< → <=⟧ end ? text.slice(from, end) : '';",
    reason: 'A slice that ends where it starts is empty.',
  },
  {
    file: 'src/pricing/cost.ts',
    within: 'higher',
    change: 'input: one.input ⟦> → >=⟧ other.input ? one.input : other.input,',
    reason: 'Of two equal values either is the right one.',
  },
  {
    file: 'src/pricing/cost.ts',
    within: 'higher',
    change: 'output: one.output ⟦> → >=⟧ other.output ? one.output : other.output,',
    reason: 'Of two equal values either is the right one.',
  },
  {
    file: 'src/pricing/cost.ts',
    within: 'tokensWithin',
    change: 'return tokens ⟦< → <=⟧ BigInt(max) ? Number(tokens) : max;',
    reason: 'Of two equal values either is the right one.',
  },
  {
    file: 'src/pricing/cost.ts',
    within: 'isOffPeak',
    change: 'return start ⟦< → <=⟧ end ? start <= time && time < end : start <= time || time < end;',
    reason: 'The catalogue refuses a band that starts when it ends.',
  },
  {
    file: 'src/pricing/cost.ts',
    within: 'clockIn',
    change: 'if (⟦clock === undefined → true⟧) {',
    reason: 'The cache only saves time.',
  },
  {
    file: 'src/pricing/cost.ts',
    within: 'clockIn',
    change: '⟦clocks.set(timezone, clock); → ;⟧',
    reason: 'The cache only saves time.',
  },
  {
    file: 'src/routing/circuit.ts',
    within: 'inARow',
    change: 'const last = failures.length - ⟦1 → 2⟧;',
    reason:
      'Then a row of one failure counts as none. A single one opens a circuit only with a limit of one, and there the window has it too.',
  },
  {
    file: 'src/routing/circuit.ts',
    within: 'inARow',
    change: 'const newest = failures[last]?.number ?? ⟦0 → 1⟧;',
    reason: 'There is always a newest failure: the one that has just been noted.',
  },
];

export function reasonFor(mutant: Mutant): string | null {
  return equivalents.find((one) => isSame(one, mutant))?.reason ?? null;
}

/** Those that no mutant of the checked files corresponds to any more. */
export function staleEquivalents(
  files: readonly string[],
  mutants: readonly Mutant[],
): readonly Equivalent[] {
  return equivalents.filter(
    (one) => files.includes(one.file) && !mutants.some((mutant) => isSame(one, mutant)),
  );
}

function isSame(one: Equivalent, { file, within, change }: Mutant): boolean {
  return one.file === file && one.within === within && one.change === change;
}
