/** A short form of `npm run chaos -- --rolling SECONDS`, in a process that may open as many connections as it needs. */
import { expect, test } from 'bun:test';
import { runWithManyConnections } from '../../chaos/world/program.ts';
import { preparedTemplate } from '../support/embedded.ts';

const deadlineMs = 180_000;

test(
  'three gateways restarted one by one under load, behind a balancer without retries, lose no request',
  async () => {
    const prepared = await preparedTemplate();
    const { exitCode, stdout, stderr } = await runWithManyConnections('rolling', [
      ...['--stream-seconds', '3', '--delay', '2', '--check', '100', '--clients', '6'],
      ...['--prepared', prepared],
    ]);
    console.log(stdout + stderr);
    expect(exitCode).toBe(0);
  },
  deadlineMs,
);
