export type TestFiles = readonly string[];

const chatParse = ['tests/chat/parse.test.ts'];
const circuit = ['tests/routing/circuit.test.ts'];
const inputBound = ['tests/chat/input-bound.test.ts'];
const ledgerDecide = ['tests/ledger/decide.test.ts'];
const reportedUsage = ['tests/providers/usage.test.ts'];
const requestHash = ['tests/idempotency/request-hash.test.ts'];

/** The files of the pure core, each with the tests that cover it. None of these needs a database or a socket. */
export const targets: Readonly<Record<string, TestFiles>> = {
  'src/chat/billing.ts': ['tests/chat/billing-rules.test.ts'],
  'src/chat/bounds.ts': inputBound,
  'src/chat/capabilities.ts': ['tests/chat/capabilities.test.ts'],
  'src/chat/completions/parse.ts': chatParse,
  'src/chat/hold.ts': ['tests/chat/billing-rules.test.ts', 'tests/chat/capabilities.test.ts'],
  'src/chat/input-tally.ts': inputBound,
  'src/chat/least-tokens.ts': ['tests/chat/least-tokens.test.ts'],
  'src/chat/signatures.ts': ['tests/chat/signatures.test.ts'],
  'src/chat/stream-progress.ts': ['tests/chat/stream-progress.test.ts'],
  'src/chat/text-weights.ts': inputBound,
  'src/generations/cursor.ts': ['tests/generations/cursor.test.ts'],
  'src/json/body.ts': ['tests/json/body.test.ts'],
  'src/json/keys.ts': ['tests/json/keys.test.ts'],
  'src/json/list.ts': ['tests/json/list.test.ts'],
  'src/json/path.ts': ['tests/json/path.test.ts'],
  'src/json/steps.ts': ['tests/json/steps.test.ts'],
  'src/json/tree.ts': ['tests/json/tree.test.ts'],
  'src/json/canonical.ts': requestHash,
  'src/idempotency/encryption.ts': ['tests/idempotency/encryption.test.ts'],
  'src/idempotency/idempotency-key.ts': ['tests/idempotency/idempotency-key.test.ts'],
  'src/idempotency/request-hash.ts': requestHash,
  'src/images/parse.ts': ['tests/images/parse.test.ts'],
  'src/keys/refusals.ts': ['tests/keys/refusals.test.ts'],
  'src/ledger/decide.ts': ledgerDecide,
  'src/ledger/settlement.ts': ['tests/ledger/settlement-line.test.ts'],
  'src/lib/back-off.ts': circuit,
  'src/json/bounded.ts': ['tests/json/bounded.test.ts'],
  'src/lib/bounded-queue.ts': ['tests/lib/bounded-queue.test.ts'],
  'src/json/scan.ts': ['tests/json/scan.test.ts', 'tests/json/steps.test.ts'],
  'src/lib/money.ts': ['tests/lib/money.test.ts'],
  'src/lib/rate-limit.ts': ledgerDecide,
  'src/lib/recent-map.ts': ['tests/keys/refusals.test.ts'],
  'src/lib/retry-after.ts': ['tests/lib/retry-after.test.ts'],
  'src/lib/sse.ts': ['tests/lib/sse.test.ts'],
  'src/lib/tally.ts': ['tests/lib/tally.test.ts'],
  'src/pricing/below-cost.ts': ['tests/pricing/below-cost.test.ts'],
  'src/pricing/cost.ts': [
    'tests/pricing/pricing.test.ts',
    'tests/pricing/cached-cost.test.ts',
    'tests/chat/billing-rules.test.ts',
  ],
  'src/providers/anthropic-usage.ts': [...reportedUsage, 'tests/providers/anthropic.test.ts'],
  'src/providers/google-usage.ts': [...reportedUsage, 'tests/providers/google.test.ts'],
  'src/providers/openai-usage.ts': [...reportedUsage, 'tests/providers/openai.test.ts'],
  'src/providers/usage-report.ts': reportedUsage,
  'src/routing/circuit.ts': circuit,
  'src/routing/outage.ts': ['tests/routing/outage.test.ts'],
  'src/routing/pause.ts': ['tests/routing/gate-accounts.test.ts'],
};
