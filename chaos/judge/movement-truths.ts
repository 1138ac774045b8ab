/**
 * What must be true of money that is moved by hand: what was answered as booked is in the ledger, once, however often it was
 * sent; what was refused is not; and nothing is there that nobody asked for.
 */
import { formatMoney } from '../../src/lib/money.ts';
import type { AskedMovement } from '../trials/movement-log.ts';
import type { Evidence } from './evidence.ts';
import type { RecordedMovement } from './ledger-log.ts';
import { checkEach, type Truth } from './truth.ts';

/** What the admin API may say to these requests. A command says nothing that can be told apart. */
const refusals = new Set(['amount_too_large', 'nothing_left', 'reference_in_use', 'generation_not_found']);

export function judgeMovements({ movements, ledger }: Evidence): Truth[] {
  const recorded = Map.groupBy(ledger.movements, nameOf);
  const asked = Map.groupBy(movements, nameOf);
  const sameName = (movement: AskedMovement) => recorded.get(nameOf(movement)) ?? [];
  const withName = (entries: readonly RecordedMovement[], { accountId }: { accountId: string }) =>
    entries.filter((entry) => entry.accountId === accountId);
  const booked = movements.filter(({ answer }) => answer === 'booked' || answer === 'repeated');
  return [
    checkEach(
      'each movement that was answered as booked is in the ledger, as it was asked for and answered',
      booked,
      (movement) => {
        const [found, ...more] = sameName(movement).filter((entry) => isOf(entry, movement));
        const { entry } = movement;
        const isAnswered =
          entry === null ||
          (found?.accountId === entry.accountId &&
            found.number === entry.number &&
            found.amount === entry.amount);
        return found !== undefined && more.length === 0 && isAnswered ? null : describeMovement(movement);
      },
    ),
    checkEach(
      'a movement that was sent or asked for several times is in the ledger once at most',
      [...asked].filter(([, all]) => all.length > 1 || all.some(({ sent }) => sent > 1)),
      ([name]) => {
        const entries = recorded.get(name) ?? [];
        const isTwice = entries.some((entry) => withName(entries, entry).length > 1);
        return isTwice ? `${name}: ${entries.map(({ number }) => number).join(', ')}` : null;
      },
    ),
    checkEach(
      'no movement is in the ledger that was not asked for, or was refused',
      ledger.movements,
      (entry) => {
        const askers = (asked.get(nameOf(entry)) ?? []).filter((movement) => isOf(entry, movement));
        return askers.some(({ answer }) => answer !== 'refused')
          ? null
          : `${nameOf(entry)}: ${entry.kind} of ${formatMoney(entry.amount)}, entry ${entry.number} of ${entry.accountId}`;
      },
    ),
    checkEach(
      'a movement is refused only because of its amount, its reference, or the request that it is about',
      movements.filter(({ answer }) => answer === 'refused'),
      (movement) => (refusals.has(movement.code ?? '') ? null : describeMovement(movement)),
    ),
  ];
}

/** What tells a movement from others: its reference, or else its memo. */
function nameOf({ reference, words }: Pick<AskedMovement, 'reference' | 'words'>): string {
  return reference ?? `without a reference: ${words}`;
}

/** Whether an entry has what a movement asked for. */
function isOf(entry: RecordedMovement, movement: AskedMovement): boolean {
  return (
    entry.kind === movement.kind &&
    entry.requestId === movement.requestId &&
    entry.entryNumber === movement.entryNumber &&
    (movement.accountId === null || entry.accountId === movement.accountId) &&
    (movement.amount === null || entry.amount === movement.amount)
  );
}

function describeMovement(movement: AskedMovement): string {
  const { kind, amount, door, sent, answer, code, entry } = movement;
  const size = amount === null ? 'the rest' : formatMoney(amount);
  const named = entry === null ? '' : `, entry ${entry.number} of ${formatMoney(entry.amount)}`;
  return `${nameOf(movement)}: ${kind} of ${size} by ${door}, sent ${sent} times: ${answer} ${code ?? ''}${named}`;
}
