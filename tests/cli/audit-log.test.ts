/** What the command line changes: who did it is recorded, a repeated credit is given once, and passwords stay hidden. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { findAllChanges } from '../../src/console/operator/audit-log.ts';
import { newestPosition } from '../../src/generations/generation-store.ts';
import { referenceOf } from '../../src/ledger/reference.ts';
import { OperatorError } from '../../src/lib/operator-error.ts';
import { addDays, dayOf } from '../../src/usage/days.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { runCommand } from '../support/commands.ts';
import { eventually } from '../support/eventually.ts';
import { programEnvironment, temporaryFolder, tollgate, workingFolder } from '../support/gateway.ts';
import { impossible, settleAs } from '../support/rare-settlements.ts';

let database: TestDatabase;
let environment: Record<string, string>;

beforeAll(async () => {
  database = await createDatabase();
  environment = { DATABASE_URL: database.url };
});

afterAll(() => database.close());

const run = <Output = { id: string }>(...words: string[]) => runCommand<Output>(words, environment);
/** What the program would report before it exits with 1. */
const refusalOf = (...words: string[]) =>
  run(...words).then(
    () => 'done',
    (error: unknown) => (error instanceof OperatorError ? error.message : `${error}`),
  );
/** Reads this bill, as if it were for yesterday. */
const reconcile = (amount: string) => {
  const day = addDays(dayOf(new Date()), -1);
  const file = join(temporaryFolder(), 'bill.csv');
  writeFileSync(file, `day,amount\n${day},${amount}\n`);
  return ['reconcile', '--provider', 'sandbox', '--from', day, '--to', day, '--file', file];
};
const me = `${Bun.spawnSync(['id', '-un']).stdout.toString().trim()}@${hostname()}`;

async function newAccount(name = 'Acme'): Promise<string> {
  return (await run('account', 'create', '--name', name)).id;
}

describe('account credit --reference', () => {
  const balanceOf = async (account: string) => {
    const [row] = await database.sql`select balance from accounts where id = ${account}`;
    return row.balance as string;
  };
  const actionsOf = async (account: string) => {
    const rows = await database.sql<{ action: string }[]>`
      select action from audit_log where account_id = ${account} order by id`;
    return rows.map(({ action }) => action);
  };

  test('is given once, however often and at whatever moment it is repeated', async () => {
    const account = await newAccount();
    const words = ['account', 'credit', account, '12.5', '--reference', 'Invoice 2026-117'];
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, () => run<{ balance: string; already_credited: boolean }>(...words)),
    );
    expect(outcomes.map((outcome) => outcome.balance)).toEqual(Array(6).fill('12.500000000000'));
    expect(outcomes.filter((outcome) => !outcome.already_credited)).toHaveLength(1);
    expect(await balanceOf(account)).toBe('12.500000000000');
    expect(await actionsOf(account)).toEqual(['create_account', 'credit_account']);
    const [entry] = await database.sql`select memo from ledger_entries where account_id = ${account}`;
    expect(entry.memo).toBe('Invoice 2026-117');

    const printed = await tollgate(words, environment);
    expect(printed).toEqual({
      exitCode: 0,
      stdout: `Reference Invoice 2026-117 was already credited: nothing was added. Account ${account} has 12.5 USD.\n`,
      stderr: '',
    });
  });

  test('is refused with another amount, and belongs to one account', async () => {
    const [account, other] = [await newAccount(), await newAccount('Other')];
    await run('account', 'credit', account, '5', '--reference', 'R1', '--memo', 'First');
    // Another memo does not make another credit: a script may put the date into it.
    await run('account', 'credit', account, '5', '--reference', 'R1', '--memo', 'Again');
    expect(await refusalOf('account', 'credit', account, '6', '--reference', 'R1')).toContain(
      'This reference was used for another movement of this account, of 5 USD.',
    );
    expect(await balanceOf(account)).toBe('5.000000000000');
    await run('account', 'credit', other, '6', '--reference', 'R1');
    expect(await balanceOf(other)).toBe('6.000000000000');
    expect((await tollgate(['ledger', 'audit', '--full'], environment)).exitCode).toBe(0);
  });

  test('the same text is the same UUID, other text another, and a UUID is itself', () => {
    const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    fc.assert(
      fc.property(fc.string(), fc.string(), (left, right) => {
        expect(referenceOf(left)).toEqual({ id: expect.stringMatching(uuid), text: left });
        expect(referenceOf(left).id === referenceOf(right).id).toBe(left === right);
      }),
    );
    const given = '01890A5D-AC96-774B-BCCE-B302099A8057';
    expect(referenceOf(given)).toEqual({ id: given.toLowerCase(), text: null });
  });
});

describe('the audit log', () => {
  test('has everything that the command line changed, with who did it', async () => {
    const account = await newAccount('Logged');
    await run('account', 'credit', account, '3');
    await run('account', 'suspend', account);
    await run('account', 'suspend', account);
    await run('account', 'resume', account);
    const key = await run('key', 'create', '--account', account, '--name', 'CI');
    await run('key', 'update', key.id, '--rpm', '5');
    await settleAs(database, { accountId: account, keyId: key.id }, impossible);
    await run('key', 'revoke', key.id);
    await run('key', 'revoke', key.id);
    const password = join(temporaryFolder(), 'password');
    writeFileSync(password, 'correct horse\n');
    const email = 'root@example.com';
    const { id: userId } = await run(
      'user',
      'create',
      '--email',
      email,
      '--password-file',
      password,
      '--admin',
    );
    await run('user', 'reset-link', email);
    await run('ledger', 'retry');
    await run(...reconcile('12.50'));

    const changes = await findAllChanges(database.sql, { userId }, null, newestPosition, 100);
    const since = changes.findIndex(
      ({ action, account: of }) => action === 'create_account' && of?.id === account,
    );
    const own = { account: { id: account, name: 'Logged' } };
    const ofAccount = { ...own, object: { type: 'account', id: account, name: 'Logged' } };
    const ofKey = { ...own, object: { type: 'key', id: key.id, name: 'CI' } };
    const ofUser = { account: null, object: { type: 'user', id: userId, name: email } };
    const [none, shown] = [null, expect.any(Object)];
    expect(
      changes
        .slice(0, since + 1)
        .toReversed()
        .map(({ id: _id, at: _at, ...change }) => change),
    ).toEqual(
      [
        { action: 'create_account', ...ofAccount, before: none, after: shown },
        { action: 'credit_account', ...ofAccount, before: none, after: shown },
        { action: 'suspend_account', ...ofAccount, before: shown, after: { is_suspended: true } },
        { action: 'resume_account', ...ofAccount, before: shown, after: { is_suspended: false } },
        { action: 'create_key', ...ofKey, before: none, after: shown },
        {
          action: 'update_key',
          ...ofKey,
          before: { requests_per_minute: 600 },
          after: { requests_per_minute: 5 },
        },
        { action: 'revoke_key', ...ofKey, before: { revoked_at: null }, after: shown },
        { action: 'create_user', ...ofUser, before: none, after: { email, is_operator: true } },
        { action: 'make_reset_link', ...ofUser, before: none, after: none },
        { action: 'retry_settlements', account: null, object: null, before: none, after: none },
        {
          action: 'reconcile_bill',
          account: null,
          object: { type: 'provider', id: 'sandbox', name: 'sandbox' },
          before: none,
          after: shown,
        },
      ].map(
        (change) =>
          ({
            ...change,
            door: 'cli',
            actor: { type: 'shell', id: null, name: me },
            address: null,
          }) as never,
      ),
    );
    const secrets = /svc_sk_[0-9A-Za-z]{8}|password|token=/;
    expect(JSON.stringify(changes)).not.toMatch(secrets);
  });

  test('names the user even where the variable USER is not set', async () => {
    const created = await tollgate(['account', 'create', '--name', 'Service', '--json'], environment);
    const { id } = JSON.parse(created.stdout) as { id: string };
    const [row] = await database.sql`select actor_shell_user from audit_log where account_id = ${id}`;
    expect(row.actor_shell_user).toBe(me);
  });

  test('names who called sudo', async () => {
    const account = (
      await runCommand<{ id: string }>(['account', 'create', '--name', 'Sudo'], {
        ...environment,
        SUDO_USER: 'alice',
      })
    ).id;
    const [row] = await database.sql`select actor_shell_user from audit_log where account_id = ${account}`;
    expect(row.actor_shell_user).toBe(`${me} (sudo: alice)`);
  });

  test('keeps nothing of a change that failed', async () => {
    const count = async () => (await database.sql`select count(*) from audit_log`.values())[0]?.[0];
    const before = await count();
    const nobody = '01890a5d-ac96-774b-bcce-b302099a8057';
    for (const words of [
      ['account', 'credit', nobody, '1'],
      ['account', 'suspend', nobody],
      ['key', 'create', '--account', nobody],
      ['key', 'update', nobody, '--rpm', '1'],
      ['key', 'revoke', nobody],
    ])
      expect(await refusalOf(...words)).toStartWith('There is no ');
    expect(await refusalOf(...reconcile('a lot'))).toContain('the amount must be a decimal');
    expect(await count()).toBe(before);
  });
});

describe('a password', () => {
  async function hashOf(email: string): Promise<string | null> {
    const [row] = await database.sql`
      select password from users join user_credentials on user_id = users.id where email = ${email}`;
    return row?.password ?? null;
  }

  const create = (email: string, ...words: string[]) => [
    'user',
    'create',
    '--email',
    email,
    '--admin',
    ...words,
  ];

  test('is read from a file or from standard input', async () => {
    const child = Bun.spawn(
      [join(import.meta.dir, '../../bin/tollgate'), ...create('in@example.com', '--password-file', '-')],
      {
        cwd: workingFolder(),
        env: programEnvironment(environment),
        stdin: Buffer.from('from standard input\n'),
        stderr: 'pipe',
      },
    );
    expect(await child.stderr.text()).toBe('');
    expect(await child.exited).toBe(0);
    expect(await Bun.password.verify('from standard input', (await hashOf('in@example.com')) ?? '')).toBe(
      true,
    );
  });

  test.each([
    [['--password-file', '/nowhere/password'], 1, 'which cannot be read (ENOENT)'],
    [['--password-file', '/dev/null'], 2, 'The password in /dev/null must have 8 to 128 characters'],
    [['--password-file', '/dev/null', '--password', 'x'], 2, 'not both'],
    [[], 2, 'Give the password with --password-file FILE'],
  ] as [string[], number, string][])(
    'that %j gives is refused with exit code %d',
    async (words, exitCode, message) => {
      const result = await tollgate(create('refused@example.com', ...words), environment);
      expect(result.exitCode).toBe(exitCode);
      expect(result.stderr).toContain(message);
      expect(await hashOf('refused@example.com')).toBe(null);
    },
  );

  test('on the command line still works, with a warning', async () => {
    const result = await tollgate(create('seen@example.com', '--password', 'for all to see'), environment);
    expect(result.exitCode).toBe(0);
    expect(result.stderr).toContain('visible in process lists');
    expect(result.stderr).not.toContain('for all to see');
  });

  /** A separate terminal, in which each input is typed when the screen shows the text before it. */
  async function type(words: string[], ...dialogue: [string, string][]) {
    let screen = '';
    const child = Bun.spawn([join(import.meta.dir, '../../bin/tollgate'), ...words], {
      cwd: workingFolder(),
      env: programEnvironment(environment),
      terminal: {
        cols: 200,
        rows: 50,
        data: (_terminal, bytes) => {
          screen += Buffer.from(bytes).toString();
        },
      },
    });
    let read = 0;
    for (const [shown, keys] of dialogue) {
      await eventually(shown, () => screen.indexOf(shown, read) >= 0);
      read = screen.indexOf(shown, read) + shown.length;
      child.terminal?.write(keys);
    }
    const exitCode = await child.exited;
    child.terminal?.close();
    return { exitCode, screen };
  }

  test('is asked for twice on a terminal, without an echo', async () => {
    const ask = 'Password for typed@example.com: ';
    const { exitCode, screen } = await type(
      create('typed@example.com'),
      [ask, 'short\r'],
      [ask, 'hidden wordz\u007fs\r'],
      ['Repeat the password: ', 'another word\r'],
      ['passwords do not match', ''],
      [ask, 'wrong\u0015hidden wörds\r'],
      ['Repeat the password: ', 'hidden wörds\r'],
    );
    expect(exitCode).toBe(0);
    expect(screen).toContain('User typed@example.com can sign in.');
    expect(screen).toContain('It must have 8 to 128 characters.');
    expect(screen).not.toMatch(/short|hidden|another|wrong/);
    expect(await Bun.password.verify('hidden wörds', (await hashOf('typed@example.com')) ?? '')).toBe(true);
  });

  test('that is not given after all changes nothing', async () => {
    const { exitCode, screen } = await type(create('gone@example.com'), ['Password for', 'half of it\u0003']);
    expect(exitCode).toBe(1);
    expect(screen).toContain('Cancelled: nothing was changed.');
    expect(await hashOf('gone@example.com')).toBe(null);
  });
});
