/** One round of `npm run chaos -- --admission N`, in a process that may open as many connections as it needs. */
import { expect, test } from 'bun:test';
import { runWithManyConnections } from '../../chaos/world/program.ts';
import { preparedTemplate } from '../support/embedded.ts';

const deadlineMs = 180_000;

test(
  'of 1,000 requests at once, exactly as many are admitted as the balance, monthly limit or rate limit covers',
  async () => {
    const prepared = await preparedTemplate();
    const { exitCode, stdout, stderr } = await runWithManyConnections('admission', [
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
