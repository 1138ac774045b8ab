/**
 * Each sslmode against a PostgreSQL with a certificate.
 *
 * Needs `openssl`: apt-get install openssl, or brew install openssl.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { temporaryFolder, tollgate } from '../support/gateway.ts';
import { type PostgresServer, startPostgres } from './support/postgres.ts';

let encrypted: PostgresServer;
let plain: PostgresServer;
let ours: string;
let foreign: string;

function openssl(folder: string, ...words: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(['openssl', ...words], {
    cwd: folder,
    stderr: 'pipe',
    stdout: 'ignore',
  });
  if (exitCode !== 0) throw new Error(stderr.toString());
}

/** A certificate authority, and its certificate for the host `localhost` alone. */
function certify(): string {
  const folder = temporaryFolder();
  const subject = (name: string) => ['-nodes', '-subj', `/CN=${name}`, '-newkey', 'rsa:2048'];
  openssl(folder, 'req', '-x509', '-days', '2', ...subject('Test CA'), '-keyout', 'ca.key', '-out', 'ca.pem');
  openssl(folder, 'req', ...subject('localhost'), '-keyout', 'server.key', '-out', 'server.csr');
  Bun.spawnSync(['sh', '-c', 'echo subjectAltName=DNS:localhost > names'], { cwd: folder });
  openssl(
    folder,
    'x509',
    '-req',
    '-days',
    '2',
    '-in',
    'server.csr',
    '-CA',
    'ca.pem',
    '-CAkey',
    'ca.key',
    '-CAcreateserial',
    '-extfile',
    'names',
    '-out',
    'server.pem',
  );
  return folder;
}

beforeAll(async () => {
  ours = certify();
  foreign = certify();
  Bun.spawnSync(['chmod', '600', join(ours, 'server.key')]);
  encrypted = await startPostgres(18, [
    'ssl = on',
    `ssl_cert_file = '${join(ours, 'server.pem')}'`,
    `ssl_key_file = '${join(ours, 'server.key')}'`,
  ]);
  plain = await startPostgres(18);
}, 120_000);

afterAll(() => {
  encrypted.stop();
  plain.stop();
});

/** Whether a command gets through, and whether its connection is encrypted. */
async function connect(server: PostgresServer, host: string, query: string): Promise<string> {
  const url = `postgres://tollgate@${host}:${server.port}/postgres?${query}`;
  const { exitCode, stderr } = await tollgate(['migrate'], { DATABASE_URL: url });
  if (exitCode !== 0) return stderr.trim();
  const { SQL } = await import('bun');
  const sql = new SQL(url, { max: 1 });
  const [row] = await sql`select ssl from pg_stat_ssl where pid = pg_backend_pid()`;
  await sql.close();
  return row.ssl ? 'encrypted' : 'plain';
}

const ca = (folder: string) => `sslrootcert=${encodeURIComponent(join(folder, 'ca.pem'))}`;
const rejected = expect.stringMatching(/^tollgate: The database at \S+ cannot be reached: /);

test.each([
  ['disable', 'plain', 'plain'],
  ['prefer', 'encrypted', 'plain'],
  ['require', 'encrypted', rejected],
] as const)('sslmode=%s', async (mode, withCertificate, without) => {
  expect(await connect(encrypted, '127.0.0.1', `sslmode=${mode}`)).toEqual(withCertificate);
  expect(await connect(plain, '127.0.0.1', `sslmode=${mode}`)).toEqual(without);
});

test('verify-ca and verify-full reject a certificate of another authority', async () => {
  for (const mode of ['verify-ca', 'verify-full']) {
    expect(await connect(encrypted, 'localhost', `sslmode=${mode}&${ca(ours)}`)).toBe('encrypted');
    expect(await connect(encrypted, 'localhost', `sslmode=${mode}&${ca(foreign)}`)).toEqual(rejected);
    expect(await connect(encrypted, 'localhost', `sslmode=${mode}`)).toEqual(rejected);
  }
});

test('verify-full rejects another host name, verify-ca ignores it', async () => {
  expect(await connect(encrypted, '127.0.0.1', `sslmode=verify-ca&${ca(ours)}`)).toBe('encrypted');
  expect(await connect(encrypted, '127.0.0.1', `sslmode=verify-full&${ca(ours)}`)).toEqual(rejected);
});
