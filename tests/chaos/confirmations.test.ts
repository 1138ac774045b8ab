/** One round of `npm run chaos -- --confirmations N`, in a process that may open as many connections as it needs. */
import { expect, test } from 'bun:test';
import { runWithManyConnections } from '../../chaos/world/program.ts';
import { preparedTemplate } from '../support/embedded.ts';

const deadlineMs = 180_000;

test(
  'a charge whose confirmation is lost is refunded if its response was withheld, and stands if it was not',
  async () => {
    const prepared = await preparedTemplate();
    const { exitCode, stdout, stderr } = await runWithManyConnections('confirmations', [
      '--rounds',
      '1',
      '--prepared',
      prepared,
    ]);
    console.log(stdout + stderr);
    expect(exitCode).toBe(0);
  },
  deadlineMs,
);
