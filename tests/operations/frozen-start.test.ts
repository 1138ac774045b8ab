/** A start on a busy machine: at every step the process stands still for longer than the database waits. */
import { expect, test } from 'bun:test';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { acquireEmbeddedServer } from '../../src/database/embedded.ts';
import { keyIn, modelIds, preparedFolder } from '../support/embedded.ts';
import { eventually } from '../support/eventually.ts';
import { launchGateway } from '../support/gateway.ts';

const program = [
  process.execPath,
  '--preload',
  join(import.meta.dir, '../support/freeze-at-steps.ts'),
  join(import.meta.dir, '../../src/cli/main.ts'),
  'serve',
];

/** This process and those of its children that stand still. */
function frozenIn(processId: number): number[] {
  const { stdout } = Bun.spawnSync(['ps', '-A', '-o', 'pid=,ppid=,state=']);
  return stdout
    .toString()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([id, parent, state]) => state === 'T' && [id, parent].includes(`${processId}`))
    .map(([id]) => Number(id));
}

/** A server that waits a tenth as long for an idle transaction, whoever began it. */
async function impatientServer(folder: string) {
  appendFileSync(join(folder, 'postgres/postgresql.conf'), 'idle_in_transaction_session_timeout = 500ms\n');
  const server = await acquireEmbeddedServer(folder);
  const sql = new SQL({ adapter: 'postgres', ...server.connection, max: 1 });
  for (const name of ['renew_version', 'renew_meter_version']) {
    const [{ text }] = await sql`select pg_get_functiondef(${name}::regproc) as text`;
    expect(text).toContain("'5s'");
    await sql.unsafe(text.replaceAll("'5s'", "'500ms'"));
  }
  return {
    hasIdleTransaction: async () =>
      (await sql`select 1 from pg_stat_activity where state like 'idle in transaction%'`).length > 0,
    release: async () => {
      await sql.close();
      await server.release();
    },
  };
}

test.each(['1', '2'])(
  'with %s workers it ends with the welcome message all the same',
  async (workers) => {
    const folder = await preparedFolder();
    const server = await impatientServer(folder);
    const launched = launchGateway({ TOLLGATE_DATA: folder, WORKERS: workers }, { command: program });
    let freezes = 0;
    const isStarted = async () => {
      const frozen = frozenIn(launched.process.pid);
      if (frozen.length > 0)
        await eventually('no transaction is open', async () => !(await server.hasIdleTransaction()));
      for (const id of frozen) process.kill(id, 'SIGCONT');
      freezes += frozen.length;
      return launched.output().includes('curl ') || launched.process.exitCode !== null;
    };
    await eventually('it has started, or failed', isStarted);
    const gateway = await launched.listening;
    expect(gateway.output()).toContain('Password: ');
    expect(freezes).toBeGreaterThan(10);
    // A repeated start listens on another port.
    const origin = [...gateway.output().matchAll(/"address":"(http[^"]+)"/g)].at(-1)?.[1] ?? '';
    expect(await modelIds({ ...gateway, origin }, keyIn(gateway))).toHaveLength(3);
    expect(await gateway.stop()).toBe(0);
    await server.release();
  },
  60_000,
);
