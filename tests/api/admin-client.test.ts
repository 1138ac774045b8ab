/** The admin API as its document describes it: with a client generated from that, by its examples, and as in docs/admin.md. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { clientFile, generateClient } from '../../scripts/admin-client.ts';
import { adminEndpoints as served } from '../../src/admin/routes.ts';
import type { AdminServices } from '../../src/admin/services.ts';
import { createAdminDocument } from '../../src/openapi/admin/document.ts';
import { adminEndpoints } from '../../src/openapi/admin/endpoints.ts';
import { AdminError, adminClient } from '../support/admin-client.ts';
import { type AdminFixture, openAdminFixture, type Program } from '../support/admin-fixture.ts';
import { addCheapUser } from '../support/cheap-user.ts';
import { runPage } from '../support/doc-commands.ts';
import { type FakeStripe, startFakeStripe } from '../support/fake-stripe.ts';
import { addPaidOrder, paymentSettings } from '../support/paid-order.ts';

let stripe: FakeStripe;
let fixture: AdminFixture;
let program: Program;

beforeAll(async () => {
  stripe = startFakeStripe();
  fixture = await openAdminFixture(paymentSettings(stripe));
  program = await fixture.program();
});

afterAll(async () => {
  await fixture.close();
  await stripe.stop();
});

test('the client is what the document generates', () => {
  expect(readFileSync(clientFile, 'utf8'), 'Run: npm run admin-client').toBe(
    generateClient(createAdminDocument()),
  );
});

test('the document is valid, has every endpoint with its scope, and is served with a token only', async () => {
  const document = JSON.parse(JSON.stringify(createAdminDocument())) as object;
  expect(await new Validator().validate({ ...document })).toEqual({ valid: true });
  const services = { deriveKey: () => Buffer.alloc(32) } as unknown as AdminServices;
  const endpoints = Object.entries(served(services, () => Promise.resolve(''))).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { scope }]) => `${method} ${path} ${scope}`),
  );
  const documented = adminEndpoints.map(
    ({ method, path, scope }) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')} ${scope}`,
  );
  expect(documented.toSorted()).toEqual(
    endpoints.filter((line) => line !== 'GET /openapi.json null').toSorted(),
  );
  const response = await program.send('GET', '/openapi.json');
  expect(await response.json()).toEqual(document);
  const published = await (await fetch(`${fixture.gateway.origin}/openapi.json`)).text();
  expect(published).not.toContain('/admin/');
});

test('every operation works with its example', async () => {
  const client = adminClient(fixture.gateway.origin, program.secret);
  const { body: account } = await client.createAccount({
    body: { name: 'Examples', external_id: 'examples' },
  });
  const { sql } = fixture.database;
  for (const [email, role] of [
    ['first@example.com', 'owner'],
    ['second@example.com', 'owner'],
  ] as const)
    await addCheapUser(sql, email, 'correct horse battery', { accountId: account.id, role });
  await client.createCredit({ account: account.id, body: { amount: '5', reference: 'FIRST' } });
  const key = () => client.createKey({ account: account.id, body: { name: 'Example' } });
  const giveGrant = async () => {
    const body = { amount: '1', category: 'promotional', reference: crypto.randomUUID() } as const;
    await client.createCredit({ account: account.id, body });
    return (await client.listGrants({ account: account.id, limit: 1 })).body.data[0];
  };
  const called = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${(await key()).body.secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'full', messages: [{ role: 'user', content: 'hi' }] }),
  });
  const generation = called.headers.get('x-service-request-id') ?? '';
  const payment = await addPaidOrder(sql, stripe, account.id, 50);
  const { body: members } = await client.listMembers({ account: account.id });
  for (const { operationId, path, body } of adminEndpoints) {
    // There may be few of each.
    const invitation = path.includes('{invitation}')
      ? await client.createInvitation({ account: account.id, body: { role: 'member' } })
      : null;
    const limit = await client.createLimit({
      account: account.id,
      body: { scope: 'end_user', end_user: operationId, kind: 'spend_per_day', amount: '10' },
    });
    const webhook = path.includes('{webhook}')
      ? await client.createWebhook({
          body: { account_id: null, url: 'http://127.0.0.1:9/', types: ['balance.low'] },
        })
      : null;
    const grant = path.includes('{grant}') ? await giveGrant() : null;
    const allowance = path.includes('{allowance}')
      ? await client.createAllowance({
          account: account.id,
          idempotencyKey: operationId,
          body: { amount: '1', every: 'day' },
        })
      : null;
    const input = {
      payment,
      grant: grant?.id ?? '',
      allowance: allowance?.body.id ?? '',
      ...(operationId === 'createAllowance' ? { idempotencyKey: 'allowance' } : {}),
      webhook: webhook?.body.id ?? '',
      account: operationId.length % 2 === 0 ? account.id : 'external_id:examples',
      key: (await key()).body.id,
      user: members.data[0]?.id ?? '',
      invitation: invitation?.body.id ?? '',
      id: limit.body.id,
      generation,
      number: '1',
      ifMatch: '*',
      // Their names are those of query parameters too.
      ...(['listWriteOffs', 'listChanges', 'listEvents', 'listWebhooks'].includes(operationId)
        ? { account: account.id }
        : {}),
      ...(operationId === 'listAccountGenerations' ? { key: undefined } : {}),
      ...(operationId.startsWith('export') ? { from: '2026-01-01', format: 'ndjson' } : {}),
      ...(body === null ? {} : { body: body.example }),
    };
    const call = client[operationId as keyof typeof client] as (given: object) => Promise<{ status: number }>;
    // Its schema is compared by the recorder.
    expect([operationId, (await call(input)).status < 300]).toEqual([operationId, true]);
  }
}, 60_000);

test('the client reports a refusal by its code', async () => {
  const client = adminClient(fixture.gateway.origin, program.secret);
  const refusal = await client.getAccount({ account: 'external_id:nobody' }).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(AdminError);
  expect(refusal).toMatchObject({ status: 404, code: 'account_not_found' });
});

test('the commands of docs/admin.md run as they are written', async () => {
  const { exitCode, output, problems } = await runPage('admin.md', fixture);
  expect([exitCode, problems]).toEqual([0, '']);
  const answers = output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { object: string; name?: string; already_credited?: boolean });
  expect(answers.map(({ object }) => object)).toEqual([
    'account',
    'account',
    'credit',
    'credit',
    'credit',
    'list',
    'invitation',
    'list',
    'account',
    'api_key',
    'limit',
    'limit',
    'list',
    'limit',
    'account',
    'account',
    'usage',
    'list',
    'list',
    'correction',
    'correction',
    'api_key',
    'api_key',
    'account',
    'account',
    'list',
    'list',
    'webhook',
  ]);
  expect(answers.map((answer) => answer.already_credited).filter((given) => given !== undefined)).toEqual([
    false,
    true,
    false,
  ]);
  expect(answers.at(-4)?.name).toBe('Acme Corporation');
}, 60_000);
