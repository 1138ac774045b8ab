/** Who is told that a webhook was disabled. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createAccount } from '../../src/accounts/account-store.ts';
import { publishEvents } from '../../src/events/publish.ts';
import { openAttempts } from '../../src/people/attempts.ts';
import { sendEventMails } from '../../src/people/event-mail.ts';
import type { Mail, Mailer } from '../../src/people/mailer.ts';
import { createEndpointAs } from '../../src/webhooks/endpoint-store.ts';
import { tellDisabled } from '../../src/webhooks/tell-disabled.ts';
import { addCheapUser } from '../support/cheap-user.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';

let database: TestDatabase;
const mails: Mail[] = [];
const mailer: Mailer = {
  origin: 'https://gateway.test',
  send: () => undefined,
  deliver: async (mail) => {
    mails.push(mail);
    return 'sent';
  },
  close: async () => undefined,
};

beforeAll(async () => {
  database = await createDatabase();
});

afterAll(() => database.close());

test('owners of the account, or the operators, and nobody else', async () => {
  const { sql } = database;
  const { id: account } = await createAccount(sql, 'Test', 0n);
  const password = 'correct horse battery';
  await addCheapUser(sql, 'owner@example.com', password, { accountId: account, role: 'owner' });
  const stranger = await addCheapUser(sql, 'stranger@example.com', password, { accountId: account });
  await sql`update users set email_verified = false where id = ${stranger.id}`;
  await addCheapUser(sql, 'member@example.com', password, { accountId: account, role: 'member' });
  await addCheapUser(sql, 'operator@example.com', password, { accountId: null, role: 'owner' });
  const actor = { door: 'cli', shellUser: 'test@test' } as const;
  const draft = { url: 'https://receiver.test/secret-path', description: '', types: null };
  for (const accountId of [account, null]) {
    const { id } = await sql.begin((transaction) =>
      createEndpointAs(transaction, actor, { accountId }, draft, Buffer.alloc(32)),
    );
    const endpoint = { id, account_id: accountId, url: draft.url };
    await sql.begin((transaction) =>
      tellDisabled(transaction, endpoint, accountId === null ? 'gone' : 'failing'),
    );
    await sendEventMails({ sql, mailer, attempts: openAttempts(sql, Buffer.alloc(32)) });
  }
  await publishEvents(sql);
  await sendEventMails({ sql, mailer, attempts: openAttempts(sql, Buffer.alloc(32)) });
  expect(mails.map(({ to }) => to)).toEqual(['owner@example.com', 'operator@example.com']);
  expect(mails[0]?.text).toContain('Nothing has reached it for three days.');
  expect(mails[0]?.text).toContain(`https://gateway.test/webhooks?account=${account}`);
  expect(mails[1]?.text).toContain('https://gateway.test/operator/webhooks');
  expect(mails.some(({ text }) => text.includes('receiver.test'))).toBe(false);
  const events =
    await sql`select account_id, data ->> 'host' as host from events where type = 'webhook.disabled' order by position`;
  expect([...events]).toEqual([
    { account_id: account, host: 'receiver.test' },
    { account_id: null, host: 'receiver.test' },
  ]);
});
