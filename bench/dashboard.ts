/**
 * How long the gateway takes to answer what the page of requests asks for, when an account has many of them: the list, the
 * histogram, groups and problems, for each range and filter. Prints a table. By hand: `bun bench/dashboard.ts [REQUESTS]`, by
 * default a million.
 */
import { dayMs } from '../src/lib/time-units.ts';
import { createUser } from '../src/people/user-store.ts';
import { freePort } from './child.ts';
import { type FilledAccount, fillRequests } from './fill-requests.ts';
import { type Gateway, onDatabase, startGateway } from './gateway.ts';
import { models } from './scenarios.ts';
import { percentile } from './statistics.ts';
import { formatNumber, formatTable } from './table.ts';
import { withWorkshop } from './workshop.ts';

const [wanted = '1000000'] = process.argv.slice(2);
/** So that a single slow one is not the 95th percentile. */
const times = 40;
const ranges = [1, 7, 30];
const email = 'bench@example.com';
const password = 'correct horse battery';

/** Common ones, rare ones, and some that nothing matches. */
const filtersFor = ({ keyId }: FilledAccount): readonly string[] => [
  '',
  'status=failed',
  'status=refused',
  'status=cancelled',
  'error_code=provider_timeout',
  'error_code=empty_provider_stream',
  `model=${models.fast}`,
  'provider=Upstream',
  `key=${keyId}`,
  'api=messages',
  'end_user=user-7',
  'end_user=nobody',
  'tag=team%3D7',
  'session=run-7',
  'streamed=yes',
  'fallback=yes',
  'min_cost=0.003',
  'min_cost=1',
  'min_duration_ms=2900',
  'min_duration_ms=60000',
];

await withWorkshop(async (workshop) => {
  // No request is made, so there is nothing upstream.
  const gateway = await startGateway(freePort(), workshop);
  const filled = await onDatabase(gateway, async (sql) => {
    const account = await fillRequests(sql, { requests: Number(wanted), keys: 500, days: 30 });
    note('filled');
    const { accountId } = account;
    await createUser(sql, { email, password, isOperator: true, accountId, role: 'owner' });
    return account;
  });
  const cookie = await signIn(gateway);
  /** The 95th percentile for each range. */
  const measure = async (path: string) => {
    const cells: string[] = [];
    for (const days of ranges) cells.push(await measured(gateway, cookie, `${path}&${lastDays(days)}`));
    note(path);
    return cells;
  };
  const readers = { customer: `accounts/${filled.accountId}`, operator: 'operator' };
  for (const [reader, door] of Object.entries(readers)) {
    const rows: string[][] = [];
    for (const filter of filtersFor(filled)) {
      const list = await measure(`${door}/requests?${filter}`);
      const histogram = await measure(`${door}/requests/series?${filter}`);
      rows.push([filter.replace(/(?<=^key=).*/, 'the busiest') || 'all', ...list, ...histogram]);
    }
    for (const by of ['model', 'key', 'provider'])
      rows.push([`by ${by}`, '', '', '', ...(await measure(`${door}/requests/groups?by=${by}`))]);
    if (reader === 'customer')
      rows.push(['problems', '', '', '', ...(await measure(`${door}/requests/problems?`))]);
    const header = ['list', 'histogram, groups'].flatMap((what) =>
      ranges.map((days) => `${what}, ${days} d`),
    );
    process.stdout.write(`\n${formatTable([`${reader}, p95 in ms`, ...header], rows)}\n`);
  }
});

function lastDays(days: number): string {
  const nowMs = Date.now();
  return `from=${new Date(nowMs - days * dayMs).toISOString()}&to=${new Date(nowMs).toISOString()}`;
}

async function signIn({ port }: Gateway): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/api/auth/sign-in/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: `http://127.0.0.1:${port}` },
    body: JSON.stringify({ email, password }),
  });
  if (response.status !== 200) throw new Error(`Signing in failed: ${await response.text()}`);
  return response.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
}

/** The 95th percentile, as a browser on this machine sees it, or what failed. */
async function measured({ port }: Gateway, cookie: string, path: string): Promise<string> {
  const durations: number[] = [];
  while (durations.length < times) {
    const startedAtMs = performance.now();
    const response = await fetch(`http://127.0.0.1:${port}/api/console/${path}`, {
      headers: { cookie, 'sec-fetch-site': 'same-origin' },
    });
    const body = await response.text();
    if (response.status !== 200) {
      note(`${path}: ${body}`);
      process.exitCode = 1;
      return `failed: ${response.status}`;
    }
    durations.push(performance.now() - startedAtMs);
  }
  return formatNumber(percentile(durations, 0.95));
}

function note(text: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
}
