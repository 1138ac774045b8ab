/** What `npm start` prints last, in each situation. tests/database/embedded.test.ts pastes its commands into a shell. */
import { expect, test } from 'bun:test';
import { formatWelcome } from '../../src/operations/welcome.ts';

const origin = 'http://127.0.0.1:8080';
const accountId = '01890000-0000-7000-8000-000000000000';

test('no sign-in and no key without a demo', () => {
  const bare = `\nTollgate is running.\n\nDashboard: ${origin}\n\n`;
  expect(formatWelcome(origin, null, true)).toBe(bare);
});

test('a revoked key is distinguished from a missing one, with what to do', () => {
  expect(formatWelcome(origin, { accountId, key: null, signIn: null }, true)).toBe(
    `\nTollgate is running.\n\nDashboard: ${origin}\nAPI:       ${origin}/v1\n  The demo key is revoked.\n` +
      `  For a new one: npx tollgate key create --account ${accountId}\n\n`,
  );
});

test('without the sandbox model the first call is one that works with any catalogue', () => {
  const text = formatWelcome(origin, { accountId, key: 'svc_sk_x', signIn: null }, false);
  expect(text).toContain(`  export OPENAI_BASE_URL=${origin}/v1\n  export OPENAI_API_KEY=svc_sk_x\n`);
  expect(text.match(/^ {2}curl .*$/gm)).toEqual([
    `  curl ${origin}/v1/models -H "Authorization: Bearer svc_sk_x"`,
  ]);
  expect(text).not.toContain('sandbox');
});

test('the first command works by itself, and the others with the variables before it', () => {
  const text = formatWelcome(origin, { accountId, key: 'svc_sk_x', signIn: null }, true);
  const [first = '', ...others] = text.match(/^ {2}curl .*$/gm) ?? [];
  expect(first).not.toContain('$');
  expect(others).toHaveLength(3);
  for (const command of others) expect(command).toContain('$OPENAI_API_KEY');
  expect(text.indexOf('export OPENAI_API_KEY')).toBeLessThan(text.indexOf('curl'));
});

test('a later start says which password works, without knowing it', () => {
  const signIn = { email: 'demo@tollgate.local', password: null };
  const text = formatWelcome(origin, { accountId, key: null, signIn }, true);
  expect(text).toContain('The password from the first start still works, unless you have changed it.\n');
  expect(text).toContain('npx tollgate user reset-link demo@tollgate.local');
});
