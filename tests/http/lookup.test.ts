/** What a client learns when a lookup in the database fails. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';

/** Tries to reach a database that refuses connections, with as many descriptors left as there are, or with none. */
const program = (isShort: boolean) => `
  import { openSync, writeSync } from 'node:fs';
  import { SQL } from 'bun';
  import { lookUp } from ${JSON.stringify(join(import.meta.dir, '../../src/http/lookup.ts'))};
  const sql = new SQL('postgres://nobody@127.0.0.1:9/nothing');
  try {
    while (${isShort}) openSync('/dev/null', 'r');
  } catch {}
  const { code, retryAfterSeconds } = await lookUp('usage_lookup_failed', () => sql\`select 1\`).catch((error) => error);
  writeSync(1, JSON.stringify([code, retryAfterSeconds]));
  process.exit();
`;

function outcomeWith(isShort: boolean): unknown {
  const command = ['sh', '-c', 'ulimit -n 100; exec "$0" -e "$1"', process.execPath, program(isShort)];
  return JSON.parse(Bun.spawnSync(command).stdout.toString());
}

test('a database that cannot be reached is not blamed when this machine has no descriptors left', () => {
  expect(outcomeWith(false)).toEqual(['usage_lookup_failed', null]);
  expect(outcomeWith(true)).toEqual(['server_overloaded', 1]);
});
