/** What people asked to be moved by hand, and what the answers were. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { formatMoney } from '../../src/lib/money.ts';

export type Movement = Readonly<{
  kind: 'credit' | 'correction' | 'refund';
  /** Null for a refund, whose Generation says it. */
  accountId: string | null;
  /** The request that is refunded. */
  requestId: string | null;
  /** The entry that is undone. */
  entryNumber: number | null;
  /** Null for all that is left. */
  amount: bigint | null;
  /** The memo or reason, by which a credit without a reference is found. */
  words: string;
  reference: string | null;
}>;

export type AskedMovement = Movement &
  Readonly<{
    door: 'api' | 'cli' | 'function';
    /** How often it was sent until it was answered. */
    sent: number;
    /** `unknown`: it may have been booked. */
    answer: 'booked' | 'repeated' | 'refused' | 'unknown';
    code: string | null;
    /** The entry that the answer names. */
    entry: Readonly<{ accountId: string; number: number; amount: bigint }> | null;
  }>;

export type MovementLog = Readonly<{
  asked: readonly AskedMovement[];
  note: (movement: AskedMovement) => void;
  close: () => void;
}>;

export function openMovementLog(folder: string): MovementLog {
  const asked: AskedMovement[] = [];
  const file = openSync(join(folder, 'movements.jsonl'), 'a');
  return {
    asked,
    note: (movement) => {
      asked.push(movement);
      const line = JSON.stringify({ at: new Date(), ...movement }, (_, value: unknown) =>
        typeof value === 'bigint' ? formatMoney(value) : value,
      );
      writeSync(file, `${line}\n`);
    },
    close: () => closeSync(file),
  };
}
