/** What becomes true by itself is told once for as long as it lasts, whichever node looks. */
import { afterAll, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { tellCauses } from '../../src/events/causes.ts';
import { findEvents } from '../../src/events/event-store.ts';
import { forgetOldEvents, publishEvents } from '../../src/events/publish.ts';
import { tellUsage } from '../../src/events/usage-told.ts';
import { createAllowanceAs } from '../../src/grants/allowances.ts';
import { findGrants, voidGrant } from '../../src/grants/grant-store.ts';
import { book } from '../../src/ledger/movements.ts';
import { newId } from '../../src/lib/ids.ts';
import { createLimitAs } from '../../src/limits/limit-store.ts';
import { addUpUsage } from '../../src/usage/usage-days.ts';
import { eventually } from '../support/eventually.ts';
import { LedgerFixture } from '../support/ledger-fixture.ts';

const fixture = await LedgerFixture.open();
const { sql } = fixture.database;
const second = new SQL(fixture.database.url, { max: 4, bigint: true });
const ledger = fixture.openLedger();
const usd = 10n ** 12n;
const actor = { door: 'cli', shellUser: 'test@test' } as const;

afterAll(async () => {
  await ledger.close();
  await second.close({ timeout: 1 });
  await fixture.close();
});

/** Both nodes look, and look again. */
async function look(lostSeconds: number | null = null): Promise<void> {
  for (let round = 0; round < 2; round += 1)
    await Promise.all([tellCauses(sql, lostSeconds, 0), tellCauses(second, lostSeconds, 0)]);
  await Promise.all([publishEvents(sql), publishEvents(second)]);
  await publishEvents(sql);
}

/** The types of an account's events, or the operator's, since the last time, with their numbers. */
async function told(accountId: string | null) {
  const events = await findEvents(sql, { accountId, type: null }, 0n, 1_000);
  const own = events.filter((event) => event.account_id === accountId);
  expect(own.map(({ sequence }) => sequence)).toEqual(own.map((_, place) => BigInt(place + 1)));
  return own;
}

async function typesOf(accountId: string | null): Promise<string[]> {
  return (await told(accountId)).map(({ type }) => type);
}

async function spend(owner: Awaited<ReturnType<typeof fixture.customer>>, amount: bigint): Promise<void> {
  const held = fixture.hold(owner, amount);
  await ledger.hold(held);
  await ledger.settle(fixture.settlement(held, amount));
}

test('budgets that were reached before anyone looked are no news, and what follows is', async () => {
  const owner = await fixture.customer(100n * usd, { monthlyLimit: 20n * usd });
  const use = async (amount: number) => {
    await sql`update api_key_meters set month_spent = ${amount}, month = date_trunc('month', now() at time zone 'UTC')
              where key_id = ${owner.keyId}`;
    await look();
  };
  await use(17);
  expect(await typesOf(owner.accountId)).toEqual(['credit.added', 'key.created']);
  await use(20);
  expect(await typesOf(owner.accountId)).toEqual(['credit.added', 'key.created', 'key.used_up']);
});

test('a low balance is told once, and again after it was not low', async () => {
  const owner = await fixture.customer(10n * usd);
  const { accountId } = owner;
  await sql`insert into account_details (account_id, low_balance) values (${accountId}, 5)`;
  await look();
  expect(await typesOf(accountId)).toEqual(['credit.added', 'key.created']);
  await spend(owner, 6n * usd);
  await look();
  await spend(owner, usd);
  await look();
  expect(await typesOf(accountId)).toEqual(['credit.added', 'key.created', 'balance.low']);
  await sql`update account_details set low_balance = 1 where account_id = ${accountId}`;
  await look();
  await sql`update account_details set low_balance = 5 where account_id = ${accountId}`;
  await look();
  const events = await told(accountId);
  expect(events.slice(2).map(({ type, data }) => [type, data.balance])).toEqual([
    ['balance.low', '4.000000000000'],
    ['balance.low', '3.000000000000'],
  ]);
});

/** In the category `promotional`. */
async function grant(accountId: string, amount: bigint, expiresAt: Date): Promise<void> {
  const terms = { category: 'promotional', priority: 50, expiresAt } as const;
  const credit = { kind: 'credit', accountId, amount, memo: 'Welcome', reference: newId() } as const;
  expect(await book(sql, actor, { ...credit, grant: terms })).toMatchObject({ outcome: 'booked' });
}

const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000);

test('a grant that expires within three days is told once, if something is left of it', async () => {
  const owner = await fixture.customer(10n * usd);
  const { accountId } = owner;
  await grant(accountId, 5n * usd, inHours(71));
  await grant(accountId, 6n * usd, inHours(73));
  const expiring = async () => {
    // As a node does every few seconds.
    await sql`select refresh_grants(${accountId}::uuid)`;
    await look();
    return (await told(accountId)).filter(({ type }) => type === 'grant.expiring').map(({ data }) => data);
  };
  const [first, ...none] = await expiring();
  expect(first).toMatchObject({ category: 'promotional', remaining: '5.000000000000' });
  expect(none).toEqual([]);
  // Used up, and given back: it is the same grant.
  const held = fixture.hold(owner, 5n * usd);
  await ledger.hold(held);
  await ledger.settle(fixture.settlement(held, 5n * usd));
  expect(await expiring()).toHaveLength(1);
  const refund = {
    kind: 'refund',
    generationId: held.generation.id,
    accountId: null,
    amount: 'rest',
  } as const;
  const refunded = await book(sql, actor, { ...refund, reason: 'Cut short', reference: newId() });
  expect(refunded).toMatchObject({ outcome: 'booked', amount: 5n * usd });
  expect(await expiring()).toHaveLength(1);
  await sql`update grants set expires_at = now() + interval '70 hours' where account_id = ${accountId} and amount = 6`;
  expect((await expiring()).map((data) => data?.remaining)).toEqual(['5.000000000000', '6.000000000000']);
});

test('an allowance that is given anew is not told to expire, and the last one is', async () => {
  const { accountId } = await fixture.customer(10n * usd);
  const draft = { accountId, amount: 3n * usd, every: 'day', priority: 50, note: null } as const;
  const allowance = await sql.begin((transaction) => createAllowanceAs(transaction, actor, draft));
  const expiring = async () => {
    await look();
    return (await typesOf(accountId)).filter((type) => type === 'grant.expiring').length;
  };
  expect(await expiring()).toBe(0);
  if (typeof allowance === 'string') throw new Error(allowance);
  await sql`update allowances set ended_at = now() where id = ${allowance.id}`;
  expect(await expiring()).toBe(1);
});

test('what leaves with a grant is told with its entry, and as no correction', async () => {
  const { accountId } = await fixture.customer(10n * usd);
  await grant(accountId, 5n * usd, inHours(500));
  await grant(accountId, 6n * usd, inHours(600));
  const grants = await findGrants(sql, accountId);
  const [second_, first] = grants.filter(({ category }) => category === 'promotional');
  await sql`update grants set expires_at = now() where id = ${first?.id ?? ''}`;
  await sql`select settle_grants(${accountId}::uuid)`;
  await voidGrant(sql, actor, { accountId, id: second_?.id ?? '', reason: 'By mistake' });
  await look();
  const ended = (await told(accountId)).slice(-2).map(({ type, data }) => ({ type, data }));
  const common = { category: 'promotional' };
  expect(ended).toEqual([
    {
      type: 'grant.expired',
      data: {
        ...common,
        grant_id: first?.id,
        entry_number: 4,
        amount: '-5.000000000000',
        balance_after: '16.000000000000',
      },
    },
    {
      type: 'grant.voided',
      data: {
        ...common,
        grant_id: second_?.id,
        entry_number: 5,
        amount: '-6.000000000000',
        balance_after: '10.000000000000',
      },
    },
  ]);
});

test('budgets are told at 80 and at 100 %, of limits and of keys', async () => {
  const owner = await fixture.customer(100n * usd, { monthlyLimit: 20n * usd });
  await sql.begin((transaction) =>
    createLimitAs(transaction, actor, {
      accountId: owner.accountId,
      scope: 'account',
      keyId: null,
      endUser: null,
      kind: 'spend_per_month',
      amount: 10n * usd,
      increase: null,
      setBy: 'operator',
    }),
  );
  const since = async () =>
    (await told(owner.accountId)).slice(2).map(({ type, data }) => [type, data.percent]);
  // Requests count towards limits in the ledger's own tests.
  const use = async (limit: number, key: number) => {
    await sql`update limit_meters set used = ${limit} from limits
              where limits.id = limit_id and account_id = ${owner.accountId}`;
    await sql`update api_key_meters set month_spent = ${key}, month = date_trunc('month', now() at time zone 'UTC')
              where key_id = ${owner.keyId}`;
    await look();
  };
  await use(7.9, 15);
  expect(await since()).toEqual([]);
  await use(8, 16);
  expect(await since()).toEqual([
    ['budget.reached', 80],
    ['budget.reached', 80],
  ]);
  await use(9.96, 20);
  expect((await since()).slice(2)).toEqual([
    ['budget.reached', 100],
    ['key.used_up', undefined],
  ]);
  await use(0, 20);
  await use(8, 20);
  expect((await since()).slice(4)).toEqual([['budget.reached', 80]]);
});

test('keys that expire, or whose replacement is due, are told when it happens', async () => {
  const { accountId, keyId } = await fixture.customer(usd);
  const { keyId: replaced } = await fixture.anotherKey(accountId);
  const { keyId: revoked } = await fixture.anotherKey(accountId);
  await sql`update api_keys set expires_at = now() + interval '1 hour' where id = ${keyId}`;
  await sql`update api_keys set revoked_at = now() + interval '1 hour' where id = ${replaced}`;
  await sql`update api_keys set revoked_at = now() where id = ${revoked}`;
  await look();
  const since = async () => (await told(accountId)).slice(4).map(({ type, data }) => [type, data.key_id]);
  expect(await since()).toEqual([['key.revoked', revoked]]);
  await sql`update api_keys set expires_at = now() where id = ${keyId}`;
  await sql`alter table api_keys disable trigger api_keys_end_told`;
  await sql`update api_keys set revoked_at = now() where id = ${replaced}`;
  await sql`alter table api_keys enable trigger api_keys_end_told`;
  await look();
  expect((await since()).slice(1).toSorted()).toEqual(
    [
      ['key.expired', keyId],
      ['key.revoked', replaced],
    ].toSorted(),
  );
});

test('a key that is revoked during a look is told once', async () => {
  const { accountId, keyId } = await fixture.customer(usd);
  const locked = Promise.withResolvers<void>();
  const revoked = Promise.withResolvers<void>();
  const holding = sql.begin(async (transaction) => {
    await transaction`update event_looks set looked_at = '-infinity'`;
    locked.resolve();
    await revoked.promise;
  });
  await locked.promise;
  const looking = tellCauses(second, null, 0);
  await eventually('a look that has begun', async () => {
    const waiting = await sql`
      select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%update event_looks%'`;
    return waiting.length > 0;
  });
  await sql`update api_keys set revoked_at = now() where id = ${keyId}`;
  revoked.resolve();
  await Promise.all([holding, looking]);
  await look();
  expect((await typesOf(accountId)).slice(2)).toEqual(['key.revoked']);
});

test('looking for causes does not wait for events to be published, nor the other way round', async () => {
  const { accountId } = await fixture.customer(usd);
  await sql.begin(async (publishing) => {
    await publishing`select publish_events(500)`;
    await tellCauses(second, null, 0);
  });
  await sql.begin(async (looking) => {
    await looking`update event_looks set looked_at = now()`;
    await second`insert into events (account_id, type, data) values (${accountId}, 'key.revoked', '{}')`;
    await publishEvents(second);
  });
  expect((await typesOf(accountId)).slice(2)).toEqual(['key.revoked']);
});

test('what nodes report of providers and the catalogue is told to the operator alone, and when it ends', async () => {
  const report = (circuits: object[], error: string | null) =>
    JSON.stringify({ circuits, price_version: '1', catalog_error: error });
  const circuit = { provider: 'main', model: 'full', state: 'open', setback: { kind: 'key' } };
  const ids = [newId(), newId()];
  for (const id of ids)
    await sql`insert into nodes (id, name, report)
              values (${id}, 'node', ${report([circuit], 'models.full is wrong')}::text::jsonb)`;
  await look(60);
  await look(60);
  expect((await typesOf(null)).toSorted()).toEqual([
    'catalogue.rejected',
    'circuit.opened',
    'provider_key.refused',
  ]);
  await sql`update nodes set report = ${report([{ ...circuit, state: 'half_open' }], null)}::text::jsonb`;
  await look(60);
  expect(await typesOf(null)).toHaveLength(3);
  await sql`update nodes set report = ${report([], null)}::text::jsonb`;
  await look(60);
  expect((await told(null)).at(-1)).toMatchObject({
    type: 'circuit.closed',
    data: { provider: 'main', model: 'full' },
  });
  await sql`update nodes set heartbeat_at = now() - interval '61 seconds' where id = ${ids[0] ?? ''}`;
  await look(null);
  expect(await typesOf(null)).toHaveLength(4);
  await look(60);
  expect((await told(null)).at(-1)).toMatchObject({ type: 'node.lost', data: { node_id: ids[0] } });
});

test('dead letters and audits that fail are told to the operator', async () => {
  const before = (await told(null)).length;
  const { accountId, keyId } = await fixture.customer(usd);
  await sql`insert into dead_letters (generation_id, account_id, key_id, settlement, refusal_code, refusal_about)
            values (${newId()}, ${accountId}, ${keyId}, '{}', '23514', 'a constraint')`;
  const audit = newId();
  await sql`insert into ledger_audits (id, step_count) values (${audit}, 1)`;
  await sql`update ledger_audits set steps_done = 1 where id = ${audit}`;
  await sql`update ledger_audits set outcome = 'broken' where id = ${audit}`;
  await look();
  expect((await told(null)).slice(before).map(({ type }) => type)).toEqual([
    'dead_letter.added',
    'audit.failed',
  ]);
  await sql`delete from dead_letters`;
});

test('the usage of a day is told once it is over, and later only what it differs by', async () => {
  const owner = await fixture.customer(10n * usd);
  await spend(owner, 2n * usd);
  await spend(owner, usd);
  const usage = async () =>
    (await told(owner.accountId)).filter(({ type }) => type === 'usage.charged').map(({ data }) => data);
  const lookAtDay = async () => {
    await Promise.all([tellUsage(sql), tellUsage(second)]);
    await look();
  };
  // As if it were the day before yesterday's morning.
  await sql`update event_progress set usage_day = (now() at time zone 'UTC')::date - 3`;
  await sql`update usage_records set billed_at = billed_at - interval '2 days' where account_id = ${owner.accountId}`;
  await lookAtDay();
  expect(await usage()).toEqual([]);
  await sql`update event_progress set usage_day = (now() at time zone 'UTC')::date - 3`;
  await addUpUsage(sql);
  await lookAtDay();
  expect(await usage()).toMatchObject([
    { model: 'm', requests: 2, cost: '3.000000000000', is_correction: false },
  ]);
  await sql`update usage_days set cost = cost - 1 where account_id = ${owner.accountId}`;
  await sql`update event_progress set usage_day = (now() at time zone 'UTC')::date - 3`;
  await lookAtDay();
  await lookAtDay();
  expect((await usage()).slice(1)).toMatchObject([
    { requests: 0, cost: '-1.000000000000', is_correction: true },
  ]);
  // Tokens that cost nothing are told, too, and a day that is as it was told is left alone.
  await sql`update usage_days set cost = cost + 1, cache_read_tokens = cache_read_tokens + 7 where account_id = ${owner.accountId}`;
  const versions = async () =>
    await sql`select account_id, day, model, xmin::text from usage_told order by 1, 2, 3`;
  const before = await versions();
  await sql`update event_progress set usage_day = (now() at time zone 'UTC')::date - 3`;
  await lookAtDay();
  expect((await usage()).slice(2)).toMatchObject([{ cost: '1.000000000000', cache_read_tokens: 7 }]);
  await sql`update usage_days set cache_read_tokens = cache_read_tokens - 7 where account_id = ${owner.accountId}`;
  await sql`update event_progress set usage_day = (now() at time zone 'UTC')::date - 3`;
  await lookAtDay();
  expect((await usage()).slice(3)).toMatchObject([{ cost: '0.000000000000', cache_read_tokens: -7 }]);
  const after = await versions();
  await sql`update event_progress set usage_day = (now() at time zone 'UTC')::date - 3`;
  await lookAtDay();
  expect(await versions()).toEqual(after);
  expect(after).not.toEqual(before);
});

test('a day is not told before all of its entries have been added up', async () => {
  const { accountId } = await fixture.customer(usd);
  await addUpUsage(sql);
  await sql`
    insert into ledger_entries (account_id, number, kind, amount, balance_after, created_at)
    values (${accountId}, 2, 'credit', 1, 2, now() - interval '2 days')`;
  await sql`update accounts set entry_count = 2, balance = 2 where id = ${accountId}`;
  const daysAgo = async () => {
    const [{ days }] = await sql<[{ days: number }]>`
      select (now() at time zone 'UTC')::date - usage_day as days from event_progress`;
    return days;
  };
  await sql`update event_progress set usage_day = (now() at time zone 'UTC')::date - 3`;
  await tellUsage(sql);
  expect(await daysAgo()).toBe(3);
  await addUpUsage(sql);
  await tellUsage(sql);
  expect(await daysAgo()).toBeLessThan(3);
});

test('a charge writes no event, and readers miss none that was committed late', async () => {
  const owner = await fixture.customer(10n * usd);
  await look();
  const before = await told(owner.accountId);
  await spend(owner, usd);
  // The first transaction to begin is the last to end.
  const written = Promise.withResolvers<void>();
  const finished = Promise.withResolvers<void>();
  const late = sql.begin(async (transaction) => {
    await transaction`insert into events (account_id, type, data) values (${owner.accountId}, 'key.created', '{}')`;
    written.resolve();
    await finished.promise;
  });
  await written.promise;
  await second`insert into events (account_id, type, data) values (${owner.accountId}, 'key.revoked', '{}')`;
  await publishEvents(second);
  const seen = await told(owner.accountId);
  finished.resolve();
  await late;
  await publishEvents(second);
  const rest = await findEvents(
    sql,
    { accountId: owner.accountId, type: null },
    seen.at(-1)?.position ?? 0n,
    10,
  );
  expect(seen.slice(before.length).map(({ type }) => type)).toEqual(['key.revoked']);
  expect(rest.map(({ type }) => type)).toEqual(['key.created']);
});

test('events are forgotten after thirty days', async () => {
  const { accountId } = await fixture.customer(usd);
  await sql`insert into events (id, account_id, type, data)
            values ((left(first_id_at(now() - interval '31 days')::text, 14) || '7000-8000-000000000000')::uuid, ${accountId},
                    'key.created', '{}')`;
  await publishEvents(sql);
  expect(await typesOf(accountId)).toHaveLength(3);
  await forgetOldEvents(sql);
  const left = await findEvents(sql, { accountId, type: null }, 0n, 10);
  expect(left.map(({ type }) => type)).toEqual(['credit.added', 'key.created']);
});
