/** Limits in the dashboard: who may set which, what everyone sees of them, and what the audit log says. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { AccountAuditLog, Keys, Limit, Page } from '../../src/console/contract.ts';
import type { AuditLog } from '../../src/console/operator-contract.ts';
import { type ConsoleFixture, openConsoleFixture, outcomeFor } from '../support/console-fixture.ts';

let fixture: ConsoleFixture;
let path: string;
let operatorPath: string;

beforeAll(async () => {
  fixture = await openConsoleFixture();
  path = `/api/console/accounts/${fixture.account}/limits`;
  operatorPath = `/api/console/operator/accounts/${fixture.account}/limits`;
}, 60_000);

afterAll(() => fixture.close());

async function answerOf<Body>(sent: Promise<Response>): Promise<Body> {
  const response = await sent;
  expect(response.status).toBeLessThan(300);
  return (await response.json()) as Body;
}

const perDay = { scope: 'account', kind: 'spend_per_day', amount: '10' };

test('owners and operators set limits of the same kind, and owners change only their own', async () => {
  const { owner, member, operator } = fixture.people;
  const own = await answerOf<Limit>(owner.send('POST', path, perDay));
  expect(own).toMatchObject({ set_by: 'account', amount: '10', account_id: fixture.account });
  const theirs = await answerOf<Limit>(operator.send('POST', operatorPath, { ...perDay, amount: '8' }));
  expect(theirs).toMatchObject({ set_by: 'operator', amount: '8' });
  for (const [person, list] of [
    [member, path],
    [owner, path],
    [operator, operatorPath],
  ] as const) {
    const { data } = await answerOf<Page<Limit>>(person.send('GET', list));
    expect(data.map(({ id }) => id)).toEqual([theirs.id, own.id]);
  }
  for (const [method, body] of [
    ['PATCH', { amount: '100' }],
    ['DELETE', undefined],
  ] as const)
    expect(await outcomeFor(owner, method, `${path}/${theirs.id}`, body)).toBe('permission_denied');
  const changed = await answerOf<Limit>(owner.send('PATCH', `${path}/${own.id}`, { amount: '12' }));
  expect(changed.amount).toBe('12');
  const increase = { amount: '1', until: '2099-01-31T00:00:00.000Z' };
  const byOperator = operator.send('PATCH', `/api/console/operator/limits/${own.id}`, { increase });
  expect(await answerOf<Limit>(byOperator)).toMatchObject({ increase, set_by: 'account' });
  expect((await owner.send('DELETE', `${path}/${own.id}`)).status).toBe(204);
  const removed = await operator.send('DELETE', `/api/console/operator/limits/${theirs.id}`);
  expect(removed.status).toBe(204);
});

test('a limit of another account cannot be found, nor one be set for its key', async () => {
  const { owner, stranger } = fixture.people;
  const { id } = await answerOf<Limit>(owner.send('POST', path, perDay));
  const elsewhere = `/api/console/accounts/${fixture.strangersAccount}/limits`;
  for (const [method, body] of [
    ['PATCH', { amount: '100' }],
    ['DELETE', undefined],
  ] as const)
    expect(await outcomeFor(stranger, method, `${elsewhere}/${id}`, body)).toBe('limit_not_found');
  const ofKey = { ...perDay, scope: 'key', key_id: fixture.keyId };
  expect(await outcomeFor(stranger, 'POST', elsewhere, ofKey)).toBe('key_not_found');
  const { data } = await answerOf<Page<Limit>>(stranger.send('GET', elsewhere));
  expect(data).toEqual([]);
  await owner.send('DELETE', `${path}/${id}`);
});

test('a key says how many limits it has, and they name it', async () => {
  const { owner, member } = fixture.people;
  const draft = { ...perDay, scope: 'key', key_id: fixture.keyId };
  await answerOf<Limit>(owner.send('POST', path, draft));
  await answerOf<Limit>(owner.send('POST', path, { ...draft, kind: 'tokens_per_minute', amount: 500 }));
  const keys = await answerOf<Keys>(member.send('GET', path.replace(/limits$/, 'keys')));
  expect(keys.limited).toEqual([{ key_id: fixture.keyId, limits: 2 }]);
  const name = keys.data.find(({ id }) => id === fixture.keyId)?.name ?? '';
  const { data } = await answerOf<Page<Limit>>(member.send('GET', `${path}?key_id=${fixture.keyId}&limit=1`));
  expect(data).toMatchObject([{ kind: 'tokens_per_minute', key_name: name, used: '0' }]);
});

test('a limit says since when it counts, if that is later than the beginning of its window', async () => {
  const { owner } = fixture.people;
  const set = (draft: object) =>
    answerOf<Limit>(owner.send('POST', path, { kind: 'spend_per_month', amount: '9', ...draft }));
  const early = await set({ scope: 'end_user', end_user: 'early' });
  const each = await set({ scope: 'each_end_user' });
  // What counted towards the limit of each goes on counting.
  const late = await set({ scope: 'end_user', end_user: 'late' });
  const whole = [
    await set({ scope: 'account' }),
    await set({ scope: 'end_user', end_user: 'early', kind: 'concurrent_requests' }),
    await set({ scope: 'end_user', end_user: 'early', kind: 'requests_per_minute' }),
  ];
  expect(early.counted_since).toBe(early.created_at);
  expect([each.counted_since, late.counted_since]).toEqual([each.created_at, each.created_at]);
  expect(whole.map(({ counted_since: at }) => at)).toEqual([null, null, null]);
  await fixture.database
    .sql`update limits set created_at = created_at - interval '32 days' where id = ${each.id}`;
  const { data } = await answerOf<Page<Limit>>(owner.send('GET', path));
  const ofMonths = data.filter(({ kind }) => kind === 'spend_per_month');
  expect(ofMonths.map(({ counted_since: at }) => at)).toEqual([null, null, null, null]);
  for (const { id } of [early, each, late, ...whole]) await owner.send('DELETE', `${path}/${id}`);
});

test('the audit log has what was set, and owners do not learn which operator set it', async () => {
  const { owner, operator } = fixture.people;
  const draft = { scope: 'end_user', end_user: 'ann', kind: 'requests_per_minute', amount: '60' };
  const { id } = await answerOf<Limit>(operator.send('POST', operatorPath, draft));
  await answerOf<Limit>(operator.send('PATCH', `/api/console/operator/limits/${id}`, { amount: '90' }));
  const log = path.replace(/limits$/, 'audit-log?limit=2');
  const { data } = await answerOf<AccountAuditLog>(owner.send('GET', log));
  const object = { type: 'limit', id, name: 'requests per minute, end user ann' } as const;
  expect(data).toMatchObject([
    {
      action: 'update_limit',
      actor: null,
      address: null,
      object,
      before: { amount: '60' },
      after: { amount: '90' },
    },
    { action: 'create_limit', actor: null, address: null, object, before: null },
  ]);
  expect(data[1]?.after).toEqual({
    kind: 'requests_per_minute',
    scope: 'end_user',
    end_user: 'ann',
    set_by: 'operator',
    amount: '60',
  });
  const all = await answerOf<AuditLog>(operator.send('GET', '/api/console/operator/audit-log?limit=1'));
  expect(all.data[0]).toMatchObject({ actor: { name: 'operator@example.com' }, object });
});
