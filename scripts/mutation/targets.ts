export type TestFiles = readonly string[];

const chatParse = ['tests/chat-parse.test.ts'];
const circuit = ['tests/circuit.test.ts'];
const inputBound = ['tests/input-bound.test.ts'];
const ledgerDecide = ['tests/ledger-decide.test.ts'];
const requestHash = ['tests/request-hash.test.ts'];

/** The pure core, and the tests that have to hold each file of it. None of them needs a database or a socket. */
export const targets: Readonly<Record<string, TestFiles>> = {
  'src/chat/billing.ts': ['tests/chat-billing-rules.test.ts'],
  'src/chat/bounds.ts': inputBound,
  'src/chat/capabilities.ts': ['tests/chat-capabilities.test.ts'],
  'src/chat/hold.ts': ['tests/chat-billing-rules.test.ts', 'tests/chat-capabilities.test.ts'],
  'src/chat/input-tally.ts': inputBound,
  'src/chat/least-tokens.ts': ['tests/least-tokens.test.ts'],
  'src/chat/parse.ts': chatParse,
  'src/chat/stream-progress.ts': ['tests/stream-progress.test.ts'],
  'src/chat/text-weights.ts': inputBound,
  'src/generations/cursor.ts': ['tests/cursor.test.ts'],
  'src/http/json-body.ts': ['tests/json-body.test.ts'],
  'src/http/json-keys.ts': ['tests/json-keys.test.ts'],
  'src/http/json-list.ts': ['tests/json-list.test.ts'],
  'src/http/json-path.ts': ['tests/json-path.test.ts'],
  'src/http/json-steps.ts': ['tests/json-steps.test.ts'],
  'src/http/json-tree.ts': ['tests/json-tree.test.ts'],
  'src/idempotency/canonical-json.ts': requestHash,
  'src/idempotency/encryption.ts': ['tests/encryption.test.ts'],
  'src/idempotency/idempotency-key.ts': ['tests/idempotency-key.test.ts'],
  'src/idempotency/request-hash.ts': requestHash,
  'src/images/parse.ts': ['tests/images-parse.test.ts'],
  'src/keys/refusals.ts': ['tests/refusals.test.ts'],
  'src/ledger/decide.ts': ledgerDecide,
  'src/ledger/settlement.ts': ['tests/settlement-line.test.ts'],
  'src/lib/back-off.ts': circuit,
  'src/lib/bounded-json.ts': ['tests/bounded-json.test.ts'],
  'src/lib/bounded-queue.ts': ['tests/bounded-queue.test.ts'],
  'src/lib/json-scan.ts': ['tests/json-scan.test.ts', 'tests/json-steps.test.ts'],
  'src/lib/money.ts': ['tests/money.test.ts'],
  'src/lib/rate-limit.ts': ledgerDecide,
  'src/lib/recent-map.ts': ['tests/refusals.test.ts'],
  'src/lib/retry-after.ts': ['tests/retry-after.test.ts'],
  'src/lib/sse.ts': ['tests/sse.test.ts'],
  'src/lib/tally.ts': ['tests/tally.test.ts'],
  'src/pricing/cost.ts': ['tests/pricing.test.ts'],
  'src/routing/circuit.ts': circuit,
  'src/routing/outage.ts': ['tests/outage.test.ts'],
  'src/routing/pause.ts': ['tests/gate-accounts.test.ts'],
};
