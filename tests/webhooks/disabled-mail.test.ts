/** Who is told that a webhook was disabled. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createAccount } from '../../src/accounts/account-store.ts';
import type { Mail, Mailer } from '../../src/people/mailer.ts';
import { openDisabledMail } from '../../src/webhooks/disabled-mail.ts';
import { createEndpointAs } from '../../src/webhooks/endpoint-store.ts';
import { addCheapUser } from '../support/cheap-user.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';

let database: TestDatabase;
const mails: Mail[] = [];
const mailer: Mailer = {
  origin: 'https://gateway.test',
  send: (write) => {
    write()
      .then((mail) => mail !== null && mails.push(mail))
      .catch(() => undefined);
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
  await addCheapUser(sql, 'member@example.com', password, { accountId: account, role: 'member' });
  await addCheapUser(sql, 'operator@example.com', password, { accountId: null, role: 'owner' });
  const actor = { door: 'cli', shellUser: 'test@test' } as const;
  const draft = { url: 'https://receiver.test/secret-path', description: '', types: null };
  const tell = openDisabledMail(sql, mailer);
  for (const accountId of [account, null]) {
    const { id } = await sql.begin((transaction) =>
      createEndpointAs(transaction, actor, { accountId }, draft, Buffer.alloc(32)),
    );
    tell(id, accountId === null ? 'gone' : 'failing');
    await eventually('a mail', () => mails.length === (accountId === null ? 2 : 1));
  }
  expect(mails.map(({ to }) => to)).toEqual(['owner@example.com', 'operator@example.com']);
  expect(mails[0]?.text).toContain('Nothing has reached it for three days.');
  expect(mails[0]?.text).toContain(`https://gateway.test/webhooks?account=${account}`);
  expect(mails[1]?.text).toContain('https://gateway.test/operator/webhooks');
  expect(mails.some(({ text }) => text.includes('secret-path'))).toBe(false);
});
