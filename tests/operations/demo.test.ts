/** The user that the first start on the embedded database creates, and how to sign in again later. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { runCommand } from '../support/commands.ts';
import { preparedFolder, welcomed } from '../support/embedded.ts';
import { type Gateway, startGateway, tollgateJson } from '../support/gateway.ts';
import { openBrowser } from '../support/sign-in-fixture.ts';

const email = 'demo@tollgate.local';
const passwordIn = (gateway: Gateway) => /Password: (\S+)/.exec(gateway.output())?.[1] ?? null;

async function statusOfSignIn(gateway: Gateway, password: string) {
  const browser = openBrowser(gateway);
  const response = await browser.send('POST', '/api/auth/sign-in/email', { email, password });
  return { browser, status: response.status };
}

/** The log of what the command line did names users and cannot be emptied, except by the owner of the table. */
async function removeUsers(sql: SQL): Promise<void> {
  await sql.unsafe('alter table audit_log disable trigger user');
  await sql.unsafe('delete from audit_log');
  await sql.unsafe('alter table audit_log enable trigger user');
  await sql.unsafe('delete from users');
}

test('is shown once, can do everything, and comes back in by a link', async () => {
  const folder = await preparedFolder();
  const environment = { TOLLGATE_DATA: folder };
  const socket = join(folder, 'postgres/.s.PGSQL.5432');
  /** Next to the gateway, on the same database. */
  const run = <Output>(...words: string[]) =>
    runCommand<Output>(words, {
      DATABASE_URL: `postgres://tollgate@localhost/postgres?path=${encodeURIComponent(socket)}`,
    });
  const change = async (run: (sql: SQL) => Promise<unknown>) => {
    const sql = new SQL({
      adapter: 'postgres',
      path: socket,
      username: 'tollgate',
      database: 'postgres',
      max: 1,
    });
    await run(sql);
    await sql.close();
  };

  const first = await welcomed(await startGateway(environment));
  const password = passwordIn(first) ?? '';
  expect(password).toMatch(/^[\w-]{16}$/);
  expect(first.output()).toContain(`Dashboard: ${first.origin}\n  E-mail:   ${email}\n`);
  expect(readFileSync(join(folder, 'demo.json'), 'utf8')).not.toContain(password);
  const { browser, status } = await statusOfSignIn(first, password);
  expect(status).toBe(200);
  expect(await (await browser.send('GET', '/api/console/me')).json()).toMatchObject({
    user: { email, is_operator: true },
    accounts: [{ name: 'Demo', role: 'owner' }],
  });
  expect((await statusOfSignIn(first, 'password')).status).toBe(401);
  await first.stop();

  const second = await welcomed(await startGateway(environment));
  expect(passwordIn(second)).toBeNull();
  expect(second.output()).toContain(email);
  expect(second.output()).toContain(`npx tollgate user reset-link ${email}`);
  expect((await statusOfSignIn(second, password)).status).toBe(200);
  const { url } = await tollgateJson<{ url: string }>(['user', 'reset-link', email], environment);
  expect(url).toStartWith('http://127.0.0.1:8080/reset-password#token=');
  const answer = await openBrowser(second).send('POST', '/api/auth/reset-password', {
    token: url.split('token=')[1],
    newPassword: 'chosen by hand',
  });
  expect(answer.status).toBe(200);
  expect((await statusOfSignIn(second, 'chosen by hand')).status).toBe(200);
  // As it was before there were users: the account and the key are there, and nobody to sign in.
  await change(removeUsers);
  await second.stop();

  const third = await welcomed(await startGateway(environment));
  const newPassword = passwordIn(third) ?? '';
  expect(newPassword).not.toBe(password);
  expect((await statusOfSignIn(third, newPassword)).status).toBe(200);
  const [account] = await run<{ id: string }[]>('account', 'list');
  await change(removeUsers);
  await run(
    'user',
    'create',
    '--email',
    'own@example.com',
    '--password',
    'long enough',
    '--account',
    account?.id ?? '',
  );
  await third.stop();

  // Someone else looks after the account now.
  const fourth = await welcomed(await startGateway(environment));
  expect(fourth.output()).not.toContain(email);
  expect(await run<unknown[]>('user', 'list')).toHaveLength(1);
  await fourth.stop();
}, 120_000);
