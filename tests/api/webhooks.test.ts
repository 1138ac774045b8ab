/** Events from the change that causes them to the program that is told. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Webhook } from 'standardwebhooks';
import {
  type AdminFixture,
  bodyOf,
  openAdminFixture,
  type Program,
  refusalOf,
} from '../support/admin-fixture.ts';
import { eventually } from '../support/eventually.ts';
import {
  type Received,
  type Receiver,
  receiverCertificate,
  startReceiver,
} from '../support/webhook-receiver.ts';

let fixture: AdminFixture;
let program: Program;
const receivers: Receiver[] = [];

const environment = { WEBHOOK_NETWORKS: '127.0.0.2/32', NODE_EXTRA_CA_CERTS: receiverCertificate };

beforeAll(async () => {
  fixture = await openAdminFixture(environment);
  program = await fixture.program();
});

afterAll(async () => {
  for (const receiver of receivers) await receiver.stop();
  await fixture.close();
});

function receiver(...given: Parameters<typeof startReceiver>): Receiver {
  const started = startReceiver(...given);
  receivers.push(started);
  return started;
}

type Webhooks = { id: string; secret: string; is_enabled: boolean; disabled_because: string | null };
type Event = {
  id: string;
  type: string;
  sequence: number;
  account_id: string | null;
  data: Record<string, unknown>;
};

async function webhook(draft: Record<string, unknown>): Promise<Webhooks> {
  const created = await bodyOf<Webhooks>(program.send('POST', '/webhooks', draft));
  fixture.canaries.add(created.secret.slice('whsec_'.length));
  return created;
}

async function eventsOf(account: string, more = ''): Promise<Event[]> {
  const path = `/events?limit=100&account=${account}${more}`;
  return (await bodyOf<{ data: Event[] }>(program.send('GET', path))).data;
}

function verify(secret: string, { text, headers }: Received): void {
  new Webhook(secret).verify(text, headers);
}

test('what happens to an account is told once, in order, by list and by webhook, and signed', async () => {
  const own = receiver(undefined, { isSecure: true, hostname: '127.0.0.2' });
  const all = receiver();
  const { id: account } = await bodyOf<{ id: string }>(
    program.send('POST', '/accounts', { name: 'Told', external_id: 'crm-7' }),
  );
  const ofAccount = await webhook({ url: own.url, account_id: account });
  const ofOperator = await webhook({ account_id: null, url: all.url, types: ['credit.added'] });
  await bodyOf(program.send('POST', `/accounts/${account}/credits`, { amount: '5', reference: 'INV-1' }));
  const key = await bodyOf<{ id: string }>(
    program.send('POST', `/accounts/${account}/keys`, { name: 'One' }),
  );
  await bodyOf(program.send('POST', `/accounts/${account}/keys/${key.id}/revoke`));
  await bodyOf(program.send('POST', `/accounts/${account}/suspend`));

  const events = await eventually('four events', async () => {
    const found = await eventsOf(account);
    return found.length === 4 && found;
  });
  expect(events.map(({ type, sequence }) => [sequence, type])).toEqual([
    [1, 'credit.added'],
    [2, 'key.created'],
    [3, 'key.revoked'],
    [4, 'account.suspended'],
  ]);
  expect(events[0]).toMatchObject({
    external_id: 'crm-7',
    data: { amount: '5.000000000000', balance_after: '5.000000000000', reference: 'INV-1', entry_number: 1 },
  });
  await eventually('four deliveries', () => own.received.length >= 4);
  for (const one of own.received) verify(ofAccount.secret, one);
  expect(own.received.map(({ body }) => body.id).toSorted()).toEqual(events.map(({ id }) => id).toSorted());
  expect(own.received.every(({ headers, body }) => headers['webhook-id'] === body.id)).toBe(true);
  // What only the operator knows stays with the operator.
  expect(own.received.some(({ text }) => text.includes('crm-7'))).toBe(false);
  const credit = await all.next('the credit', ({ body }) => body.account_id === account);
  verify(ofOperator.secret, credit);
  expect(credit.text).toContain('"external_id":"crm-7"');
  expect(all.received.filter(({ body }) => body.account_id === account)).toHaveLength(1);

  const cloud = await bodyOf<{ data: Record<string, unknown>[] }>(
    program.send('GET', `/events?account=${account}&format=cloudevents&limit=1`),
  );
  expect(cloud.data[0]).toMatchObject({ specversion: '1.0', subject: 'crm-7', sequence: '0000000000000001' });
  const later = await eventsOf(account, `&after=${events[2]?.id}`);
  expect(later.map(({ type }) => type)).toEqual(['account.suspended']);
  expect(await refusalOf(program.send('GET', `/events?after=evt_${'0'.repeat(32)}`))).toEqual([
    404,
    'event_not_found',
    'after',
  ]);
});

test('what a customer’s webhook may be', async () => {
  const { account } = await fixture.customer('1');
  const refusal = (draft: object) =>
    refusalOf(program.send('POST', '/webhooks', { account_id: account, ...draft }));
  for (const url of [
    'http://example.com/',
    'https://u:p@example.com/',
    'https://example.com:25/',
    'example.com',
  ])
    expect(await refusal({ url })).toEqual([400, 'invalid_parameter', 'url']);
  const url = 'https://receiver.invalid/';
  expect(await refusal({ url, types: ['node.lost'] })).toEqual([400, 'invalid_parameter', 'types.0']);
  expect(await refusal({ url, types: [] })).toEqual([400, 'invalid_parameter', 'types']);
  expect(await refusal({ url, account_id: crypto.randomUUID() })).toEqual([
    404,
    'account_not_found',
    'account_id',
  ]);
  for (let count = 0; count < 10; count += 1) await webhook({ url, account_id: account });
  expect(await refusal({ url })).toEqual([400, 'too_many_webhooks', undefined]);
});

test('a webhook is changed, disabled, tested, replayed and removed', async () => {
  const server = receiver();
  const { id, secret } = await webhook({ account_id: null, url: server.url, types: ['balance.low'] });
  const path = `/webhooks/${id}`;
  const any = { 'if-match': '*' };
  const read = await program.send('GET', path);
  const etag = read.headers.get('etag') ?? '';
  expect((await refusalOf(program.send('PATCH', path, { description: 'X' })))[0]).toBe(428);
  await bodyOf(program.send('PATCH', path, { description: 'Mine' }, { 'if-match': etag }));
  const stale = program.send('PATCH', path, { description: 'X' }, { 'if-match': etag });
  expect((await refusalOf(stale))[1]).toBe('precondition_failed');
  const { event_id: eventId } = await bodyOf<{ event_id: string }>(program.send('POST', `${path}/test`));
  const sent = await server.next('the test', ({ body }) => body.id === eventId);
  verify(secret, sent);
  const rotated = await bodyOf<Webhooks>(program.send('POST', `${path}/rotate-secret`));
  fixture.canaries.add(rotated.secret.slice('whsec_'.length));
  type Listed = { data: { id: string; state: string; response_head: string | null; request_head: string }[] };
  const delivery = await eventually('its record', async () => {
    const { data } = await bodyOf<Listed>(program.send('GET', `${path}/deliveries`));
    return data[0]?.state === 'delivered' && data[0];
  });
  expect(delivery.response_head).toStartWith('HTTP/1.1 204');
  expect(delivery.request_head).toContain(`webhook-id: ${eventId}`);
  const replayed = program.send('POST', `${path}/replay`, { delivery_id: delivery.id });
  expect(await bodyOf(replayed)).toMatchObject({ deliveries: 1 });
  await eventually('the replay', () => server.received.length === 2);
  for (const one of [secret, rotated.secret]) verify(one, server.received[1] ?? sent);
  const unknown = { delivery_id: crypto.randomUUID() };
  expect((await refusalOf(program.send('POST', `${path}/replay`, unknown)))[1]).toBe('delivery_not_found');
  for (const range of [{}, { from: '2026-02-30T00:00:00Z', to: '2026-03-30T00:00:00Z' }])
    expect(await refusalOf(program.send('POST', `${path}/replay`, range))).toEqual([
      400,
      'invalid_parameter',
      'from',
    ]);
  const disabled = await bodyOf<Webhooks>(program.send('PATCH', path, { is_enabled: false }, any));
  expect(disabled).toMatchObject({ is_enabled: false, disabled_because: 'owner' });
  expect((await refusalOf(program.send('POST', `${path}/test`))).slice(0, 2)).toEqual([
    409,
    'webhook_disabled',
  ]);
  await bodyOf(program.send('DELETE', path));
  expect((await refusalOf(program.send('GET', path))).slice(0, 2)).toEqual([404, 'webhook_not_found']);
});

test('a webhook with everyone’s events is for tokens that may read them', async () => {
  const narrow = await fixture.program({ scopes: ['accounts'] });
  const { account } = await fixture.customer('1');
  const url = 'http://127.0.0.1:9/';
  expect((await refusalOf(program.send('POST', '/webhooks', { url }))).slice(0, 3)).toEqual([
    400,
    'missing_required_parameter',
    'account_id',
  ]);
  const { id } = await webhook({ account_id: null, url, types: ['balance.low'] });
  const path = `/webhooks/${id}`;
  const any = { 'if-match': '*' };
  for (const refused of [
    narrow.send('POST', '/webhooks', { account_id: null, url }),
    narrow.send('PATCH', path, { url: 'http://127.0.0.1:10/' }, any),
    narrow.send('POST', `${path}/rotate-secret`),
    narrow.send('POST', `${path}/test`),
    narrow.send('POST', `${path}/replay`, { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }),
    narrow.send('DELETE', path),
  ])
    expect((await refusalOf(refused)).slice(0, 2)).toEqual([403, 'insufficient_scope']);
  const own = narrow.send('POST', '/webhooks', { account_id: account, url: 'https://receiver.invalid/' });
  const { secret } = await bodyOf<Webhooks>(own);
  fixture.canaries.add(secret.slice('whsec_'.length));
  const both = await fixture.program({ scopes: ['accounts', 'read'] });
  await bodyOf(both.send('DELETE', path));
});

test('an account is warned below the balance that it has set', async () => {
  const { account } = await fixture.customer('10');
  const path = `/accounts/${account}`;
  const any = { 'if-match': '*' };
  const changed = await bodyOf<{ low_balance: string }>(
    program.send('PATCH', path, { low_balance: '20' }, any),
  );
  expect(changed.low_balance).toBe('20.000000000000');
  const low = await eventually('the warning', async () =>
    (await eventsOf(account)).find(({ type }) => type === 'balance.low'),
  );
  expect(low.data).toEqual({ balance: '10.000000000000', threshold: '20.000000000000' });
  expect(await bodyOf(program.send('PATCH', path, { low_balance: null }, any))).toMatchObject({
    low_balance: null,
  });
});
