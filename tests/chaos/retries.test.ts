/** A short form of `npm run chaos -- --retries N`, in a process that may open as many connections as it needs. */
import { expect, test } from 'bun:test';
import { runWithManyConnections } from '../../chaos/world/program.ts';
import { preparedTemplate } from '../support/embedded.ts';

const deadlineMs = 120_000;

test(
  'five at once with each idempotency key, two gateways, one killed: one charge and the same bytes for every key',
  async () => {
    const prepared = await preparedTemplate();
    const { exitCode, stdout, stderr } = await runWithManyConnections('retries', [
      '--names',
      '80',
      '--prepared',
      prepared,
    ]);
    console.log(stdout + stderr);
    expect(exitCode).toBe(0);
  },
  deadlineMs,
);
