/** One round of `npm run chaos -- --early-calls N`, in a process that may open as many connections as it needs. */
import { expect, test } from 'bun:test';
import { runWithManyConnections } from '../../chaos/world/program.ts';
import { preparedTemplate } from '../support/embedded.ts';

const deadlineMs = 120_000;

test(
  'of 1,000 requests at once on three gateways, no more are delivered than the balance covers, nor begun early than may be',
  async () => {
    const prepared = await preparedTemplate();
    const { exitCode, stdout, stderr } = await runWithManyConnections('early-calls', [
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
