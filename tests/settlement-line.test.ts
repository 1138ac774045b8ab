/** Settlements as lines of the spool: what is written can be read, by this version and the one after it. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Settlement } from '../src/ledger/operations.ts';
import { parseSettlement, serializeSettlement } from '../src/ledger/settlement.ts';

const id = '0199a1b2-0000-7000-8000-000000000001';
const settlement: Settlement = {
  kind: 'settle',
  generation: {
    id,
    accountId: id,
    keyId: id,
    workload: 'chat',
    model: 'm',
    streaming: false,
    priceListId: 1,
    idempotencyHash: 'ab',
    createdAtMs: 1,
  },
  provider: 'p',
  status: 'completed',
  errorCode: null,
  usage: { inputTokens: 1, outputTokens: 2, units: 3, unit: 'tokens', tier: null },
  cost: { input: 10n, output: 20n, total: 30n },
  isEstimated: true,
  onInsufficientBalance: 'write_off',
  onAlreadyCharged: 'refund',
  loss: { reason: 'interrupted', amount: 5n, reported: null },
  attempts: [],
  stored: { idempotencyHash: 'ab', response: 'cd', insufficientBalanceResponse: 'ef' },
  completedAtMs: 2,
  latencyMs: 1,
  timeToFirstTokenMs: null,
};

test('a settlement is read as it was written', () => {
  expect(parseSettlement(serializeSettlement(settlement))).toEqual(settlement);
});

test('version 0.1 wrote other names', () => {
  const { onInsufficientBalance, onAlreadyCharged, stored, generation, ...rest } = settlement;
  const { idempotencyHash, ...facts } = generation;
  const former = {
    ...rest,
    cost: { input: '10n', output: '20n', total: '30n' },
    loss: { reason: 'interrupted', amount: '5n', reported: null },
    generation: { ...facts, claimedName: idempotencyHash },
    whenShort: onInsufficientBalance,
    whenCharged: onAlreadyCharged,
    kept: { name: 'ab', whole: 'cd', whenShort: 'ef' },
  };
  expect(parseSettlement(JSON.stringify(former))).toEqual(settlement);
  expect(parseSettlement(JSON.stringify({ ...former, kept: null }))).toEqual({ ...settlement, stored: null });
});

test('a line that was cut short, or that something else wrote, is no settlement', () => {
  const line = serializeSettlement(settlement);
  fc.assert(
    fc.property(fc.nat(line.length - 1), (length) => {
      expect(parseSettlement(line.slice(0, length))).toBeNull();
    }),
  );
  fc.assert(fc.property(fc.json(), (text) => expect(parseSettlement(text)).toBeNull()));
});
