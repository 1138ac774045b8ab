/** Wrong counters: the audit says what helps, and the repair corrects them while requests are being settled. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import fc from 'fast-check';
import { auditLock } from '../../src/audit/lock.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { openSpool } from '../../src/ledger/spool.ts';
import { newId } from '../../src/lib/ids.ts';
import { createLog } from '../../src/lib/log.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { outcomeOf } from '../support/commands.ts';
import { temporaryFolder } from '../support/gateway.ts';
import { newGeneration, newHold, newSettlement } from '../support/ledger-operations.ts';
import { type SpendingOwner, settleAt, spendingOwner } from '../support/old-charges.ts';

type Json = {
  holds: boolean;
  repair: string | null;
  dry_run: boolean;
  repairs: { counter: string; key_id: string | null; account_id: string; was: string; is: string }[];
  archives: unknown[];
};

let database: TestDatabase;
let owner: SpendingOwner;
let folder: string;

beforeAll(async () => {
  database = await createDatabase();
  owner = await spendingOwner(database.sql);
  folder = temporaryFolder();
  await settleAt(database.sql, owner, { monthsAgo: 0 });
}, 60_000);

afterAll(() => database.close());

async function run(...words: string[]) {
  const {
    json,
    text,
    exitCode = 0,
  } = await outcomeOf(['ledger', ...words], {
    DATABASE_URL: database.url,
    TOLLGATE_DATA: folder,
  });
  return { ...(JSON.parse(JSON.stringify(json)) as Json), text, exitCode };
}

/** What the command would report. */
const failureOf = (...words: string[]) =>
  run(...words).then(
    () => 'nothing',
    (error: Error) => error.message,
  );

/** Like an older gateway, which does not know the counter. */
async function disturb({ held = 0, keyHeld = 0, openCount = 0, spent = 0 }): Promise<void> {
  await database.sql`update accounts set held = held + ${held}::int`;
  await database.sql`
    update api_key_meters set held = held + ${keyHeld}::int, open_count = greatest(0, open_count + ${openCount}::int),
      month_spent = month_spent + ${spent}::int`;
}

describe('a counter that is wrong', () => {
  beforeEach(async () => {
    expect((await run('audit', '--full')).holds).toBe(true);
  });

  test('is named by the audit with what helps, and is corrected once, with a record', async () => {
    await disturb({ openCount: 2 });
    const broken = await run('audit');
    expect(broken).toMatchObject({ holds: false, exitCode: 1, repair: 'tollgate ledger repair' });
    expect(broken.text).toContain(
      'The ledger is BROKEN.\nAll of this can be repaired. Run: tollgate ledger repair\n  the number of open Generations that is stored with each key is right',
    );
    expect(await failureOf('archive', '--to', folder)).toStartWith('The ledger is broken');
    const { accountId, keyId } = owner;
    const repairs = [{ account_id: accountId, key_id: keyId, counter: 'open_count', was: '2', is: '0' }];
    expect(await run('repair', '--dry-run')).toMatchObject({ dry_run: true, repairs });
    expect((await run('audit')).holds).toBe(false);
    const [{ version: before }] = await database.sql`select version from api_key_meters`;
    const repaired = await run('repair');
    expect(repaired).toMatchObject({ dry_run: false, repairs, exitCode: 0 });
    expect(repaired.text).toContain('Corrected. To check: tollgate ledger audit');
    // A gateway that remembers the row has to read it again.
    const [{ version: after }] = await database.sql`select version from api_key_meters`;
    expect(after).not.toBe(before);
    const actions = await database.sql`
      select account_id, object_id, actor_shell_user, before, after from audit_log where action = 'repair_ledger'`;
    expect([...actions]).toEqual([
      {
        account_id: accountId,
        object_id: keyId,
        actor_shell_user: expect.stringContaining('@'),
        before: { open_count: '2' },
        after: { open_count: '0' },
      },
    ]);
    expect(await run('audit')).toMatchObject({ holds: true, repair: null, exitCode: 0 });
    expect(await run('repair')).toMatchObject({
      repairs: [],
      text: 'All counters are correct. Nothing was changed.',
    });
  });

  test('is corrected whatever it counts; a balance is not', async () => {
    await disturb({ held: 2, keyHeld: 1, openCount: 3, spent: 4 });
    await database.sql`update accounts set balance = balance + 7`;
    expect((await run('audit', '--full')).text).toContain('Some of this can be repaired.');
    const { repairs } = await run('repair');
    expect(repairs.map(({ counter, key_id: key }) => [counter, key])).toEqual([
      ['held', null],
      ['held', owner.keyId],
      ['open_count', owner.keyId],
      ['month_spent', owner.keyId],
    ]);
    const left = await run('audit', '--full');
    expect(left).toMatchObject({ holds: false, repair: null });
    expect(left.text).not.toContain('ledger repair');
    await database.sql`update accounts set balance = balance - 7`;
  });

  test('is not corrected by two at once', async () => {
    await disturb({ openCount: 2 });
    const other = await database.sql.reserve();
    await other`select pg_advisory_lock(${auditLock})`;
    expect(await failureOf('repair')).toBe('An audit is running: try again when it has finished.');
    await other`select pg_advisory_unlock(${auditLock})`;
    await other.release();
    expect((await run('repair')).repairs).toHaveLength(1);
  });
});

test('whatever is wrong with them, counters are right after a repair under traffic', async () => {
  const log = createLog('error', () => undefined);
  const open = () => new SQL(database.url, { max: 1, bigint: true });
  const nodeId = newId();
  await database.sql`insert into nodes (id, name) values (${nodeId}, 'test')`;
  const ledger = openLedger(open, openSpool(folder, process.pid, nodeId), log);
  let isOver = false;
  const serve = async () => {
    while (!isOver) {
      const generation = newGeneration(owner);
      await ledger.hold(newHold(generation, nodeId, 1_000n));
      await ledger.settle(newSettlement(generation, 300n));
    }
  };
  const clients = Array.from({ length: 8 }, serve);
  const wrong = fc.integer({ min: 0, max: 4 });
  await fc.assert(
    fc.asyncProperty(
      fc.record({ held: wrong, keyHeld: wrong, openCount: fc.integer({ min: -8, max: 4 }), spent: wrong }),
      async (offsets) => {
        await disturb(offsets);
        await run('repair');
        expect((await run('repair', '--dry-run')).repairs).toEqual([]);
      },
    ),
    { numRuns: 8 },
  );
  isOver = true;
  await Promise.all(clients);
  await ledger.close();
  expect((await run('audit', '--full')).holds).toBe(true);
  // It refuses a broken ledger, and has nothing to do here.
  expect((await run('archive', '--to', folder)).archives).toEqual([]);
}, 60_000);
