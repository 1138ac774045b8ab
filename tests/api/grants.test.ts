/** Grants as clients meet them, on two gateways. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Actor } from '../../src/audit-log/audit-log.ts';
import { findActiveGrants } from '../../src/grants/grant-store.ts';
import { type Entry, findEntries, newestEntry } from '../../src/ledger/entries.ts';
import { book } from '../../src/ledger/movements.ts';
import { newId } from '../../src/lib/ids.ts';
import { parseMoney } from '../../src/lib/money.ts';
import { type ChatFixture, chatCatalog, openChatFixture } from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';

const shell: Actor = { door: 'cli', shellUser: 'someone@somewhere' };
let fixture: ChatFixture;
let second: Gateway;

beforeAll(async () => {
  fixture = await openChatFixture(chatCatalog);
  second = await startGateway(fixture.environment);
});

afterAll(async () => {
  await second.stop();
  await fixture.close();
});

async function grant(accountId: string, amount: string, expiresAt: Date): Promise<void> {
  const credit = { kind: 'credit', accountId, memo: 'Welcome', reference: newId() } as const;
  const terms = { category: 'promotional', priority: 50, expiresAt } as const;
  const booked = await book(fixture.database.sql, shell, {
    ...credit,
    amount: parseMoney(amount) ?? 0n,
    grant: terms,
  });
  expect(booked).toMatchObject({ outcome: 'booked' });
}

async function chat(gateway: Gateway, key: string) {
  const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'full', max_tokens: 100, messages: [{ role: 'user', content: 'hello' }] }),
  });
  return { status: response.status, body: await response.json() };
}

async function expireNow(accountId: string): Promise<void> {
  await fixture.database.sql`
    with ended as (update grants set expires_at = now() where account_id = ${accountId} and expires_at is not null)
    update accounts set grants_due_at = now() where id = ${accountId}`;
}

async function lastEntry(accountId: string): Promise<Entry | undefined> {
  return (await findEntries(fixture.database.sql, accountId, newestEntry, 1))[0];
}

test('a grant is spent first, and what is left of it goes by itself', async () => {
  const { account, key } = await fixture.customer('0.000001');
  await grant(account, '1', new Date(Date.now() + 3_600_000));
  for (const gateway of [fixture.gateway, second]) expect((await chat(gateway, key)).status).toBe(200);
  const [given] = await findActiveGrants(fixture.database.sql, account, { count: 1 });
  expect(given).toMatchObject({ category: 'promotional', state: 'active', memo: 'Welcome' });
  await expireNow(account);
  const expiry = await eventually('the expiry', async () => {
    const entry = await lastEntry(account);
    return entry?.kind === 'expiry' && entry;
  });
  expect(expiry).toMatchObject({ amount: -(given?.remaining ?? 0n), balanceAfter: parseMoney('0.000001') });
  for (const gateway of [fixture.gateway, second])
    expect(await chat(gateway, key)).toMatchObject({
      status: 402,
      body: { error: { code: 'insufficient_balance' } },
    });
});
