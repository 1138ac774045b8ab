/**
 * npm run chaos -- --early-calls ROUNDS: an account with 1 USD sends 1,000 requests at once to three gateways, while nobody
 * can hold anything, because its row is locked. Each gateway knows the balance and nothing of the others, so all of them
 * call the provider early, within their bound, for more than the account can pay. No more than it has may be delivered.
 */
import { parseArgs } from 'node:util';
import type { SQL } from 'bun';
import { createAccount } from '../../src/accounts/account-store.ts';
import { createKey } from '../../src/keys/key-store.ts';
import { formatMoneyShort, moneyFromDatabase, parseMoney } from '../../src/lib/money.ts';
import { boundsOf } from '../world/bounds.ts';
import { holdOf, plainModel } from '../world/catalog.ts';
import { readHolds } from '../world/hold-log.ts';
import type { ProviderCall } from '../world/upstream.ts';
import type { World } from '../world/world.ts';
import { call, type Seen } from './client-call.ts';
import type { RequestPlan } from './request-plan.ts';
import { runTrial } from './trial.ts';

const gateways = 3;
const burst = 1_000;
const balanceText = '1';
/** At about 0.02 USD each, the balance covers half of what three gateways may begin. */
const maxTokens = 2_200;
/** As the documentation states it: so many calls of one account may be ahead of their holds on each gateway. */
const maxEarlyPerGateway = 32;
/** A hold is given up after 4 s. */
const maxLockedMs = 2_500;
const recordedWithinMs = 5_000;
const pollMs = 20;
const metricsToken = 'metrics-of-a-chaos-run';

/** The provider reports as much as was held, so that settling a request frees nothing. */
function contentOf(token: string): string {
  const contentWith = (inputTokens: number) =>
    `[[say ${token}]] [[usage ${inputTokens} ${maxTokens}]] [[cache-write ${inputTokens}]]`;
  return contentWith(boundsOf(contentWith(1_000), maxTokens).inputTokens);
}

function planOf(token: string, content: string, streaming: boolean): RequestPlan {
  return {
    token,
    kind: 'burst',
    keyName: 'burst',
    streaming,
    abortAfterMs: null,
    answer: token,
    bounds: boundsOf(content, maxTokens),
    body: {
      model: plainModel,
      max_tokens: maxTokens,
      messages: [{ role: 'user', content }],
      ...(streaming ? { stream: true } : {}),
    },
  };
}

/** All of the same length, and so of the same price. */
const tokenOf = (round: number, request: number) =>
  `e${`${round}`.padStart(3, '0')}-${`${request}`.padStart(4, '0')}`;

const holdOfOne = holdOf(boundsOf(contentOf(tokenOf(0, 0)), maxTokens));

type Account = Readonly<{ id: string; key: string }>;

type Burst = Readonly<{
  seen: readonly Seen[];
  /** Until then nothing could be held. */
  unlockedAtMs: number;
}>;

async function createPayer(sql: SQL, name: string): Promise<Account> {
  const { id } = await createAccount(sql, name, parseMoney(balanceText) ?? 0n);
  const key = await createKey(sql, {
    accountId: id,
    name,
    requestsPerMinute: 1_000_000,
    // Money should run out here, not concurrency.
    maxConcurrent: 100_000,
    monthlyLimit: null,
    allowedModels: null,
    expiresAt: null,
  });
  if (key === null) throw new Error('The account is missing.');
  return { id, key: key.key };
}

/** One cheap request to each gateway, so that it knows the account. Returns the balance that is left. */
async function introduce(world: World, sql: SQL, { id, key }: Account, round: number): Promise<bigint> {
  for (const node of world.nodes) {
    const token = `w${round}-${node.index}`;
    const { outcome, code } = await call(node, key, planOf(token, `[[say ${token}]] [[usage 1 1]]`, false));
    if (outcome !== 'success') throw new Error(`A first request ended with ${code ?? outcome}.`);
  }
  const [row] = await sql<{ balance: string }[]>`select balance from accounts where id = ${id}`;
  return moneyFromDatabase(row?.balance ?? '0');
}

async function sendWhileLocked(world: World, sql: SQL, { id, key }: Account, round: number): Promise<Burst> {
  const { sending, unlockedAtMs } = await sql.begin(async (transaction) => {
    await transaction`select 1 from accounts where id = ${id} for update`;
    const sent = Array.from({ length: burst }, (_, request) => {
      const node = world.nodes[request % world.nodes.length];
      if (!node) throw new Error('There is no gateway.');
      const token = tokenOf(round, request);
      // What is not streamed also waits for its charge, so a stream shows more.
      return call(node, key, planOf(token, contentOf(token), request % 2 === 0));
    });
    await whenAllArrived(world);
    return { sending: Promise.all(sent), unlockedAtMs: Date.now() };
  });
  return { seen: await sending, unlockedAtMs };
}

/** On a slow machine the row is unlocked before that: a hold waits only so long. */
async function whenAllArrived({ nodes }: World): Promise<void> {
  const deadline = performance.now() + maxLockedMs;
  for (;;) {
    const open = await Promise.all(nodes.map(({ origin }) => openRequests(origin)));
    const total = open.reduce((sum, each) => sum + each, 0);
    if (total >= burst || performance.now() > deadline) return;
    await Bun.sleep(pollMs);
  }
}

async function openRequests(origin: string): Promise<number> {
  const response = await fetch(`${origin}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } });
  const count = /^tollgate_open_requests (\d+)$/m.exec(await response.text())?.[1];
  if (count === undefined) throw new Error('The gateway does not say how many requests are open.');
  return Number(count);
}

/** Every call that nobody pays for is recorded as the operator's. Nobody waits for that, so it comes a moment later. */
async function wrongRecords(sql: SQL, { id }: Account, unpaid: number): Promise<string[]> {
  const deadline = performance.now() + recordedWithinMs;
  for (;;) {
    const [row] = await sql<{ count: bigint }[]>`
      select count(*) as count from cancelled_calls where account_id = ${id}`;
    const recorded = Number(row?.count);
    if (recorded === unpaid) return [];
    if (performance.now() > deadline) return [`${recorded} of ${unpaid} calls are on record as cancelled`];
    await Bun.sleep(pollMs);
  }
}

type JudgedRound = Readonly<{ summary: string; wrong: readonly string[] }>;

async function runRound(world: World, sql: SQL, round: number): Promise<JudgedRound> {
  const payer = await createPayer(sql, `Round ${round}`);
  const balance = await introduce(world, sql, payer, round);
  const covered = Number(balance / holdOfOne);
  const { seen, unlockedAtMs } = await sendWhileLocked(world, sql, payer, round);
  const tokens = new Set(seen.map(({ token }) => token));
  const calls = world.upstream.calls().filter(({ token }) => tokens.has(token ?? ''));
  const early = calls.filter(({ calledAtMs }) => calledAtMs < unlockedAtMs);
  const delivered = seen.filter(({ outcome }) => outcome === 'success');
  return {
    summary: `${formatMoneyShort(balance)} USD cover ${covered} of ${burst}: ${early.length} begun while nothing could be held, ${calls.length} in all, ${delivered.length} delivered`,
    wrong: [
      ...(delivered.length === covered ? [] : [`${delivered.length} delivered instead of ${covered}`]),
      ...wrongStarts(early, calls, seen),
      ...(await wrongRecords(sql, payer, calls.length - delivered.length)),
      ...wrongEnds(seen, unlockedAtMs, await readHolds(sql)),
    ],
  };
}

/** Whatever was begun and not delivered had no hold. */
function wrongStarts(
  early: readonly ProviderCall[],
  calls: readonly ProviderCall[],
  seen: readonly Seen[],
): string[] {
  const most = gateways * maxEarlyPerGateway;
  const paid = new Set(seen.filter(({ outcome }) => outcome === 'success').map(({ token }) => token));
  const unpaid = calls.filter(({ token }) => !paid.has(token ?? ''));
  const nodeOf = new Map(seen.map(({ token, node }) => [token, node]));
  const byNode = [...Map.groupBy(early, ({ token }) => nodeOf.get(token ?? '')).values()];
  return [
    ...(early.length === 0 ? ['no call was begun early'] : []),
    ...byNode
      .filter(({ length }) => length > maxEarlyPerGateway)
      .map(({ length }) => `a gateway began ${length} early, and not ${maxEarlyPerGateway}`),
    ...(unpaid.length > most ? [`${unpaid.length} calls without a hold, and not ${most}`] : []),
  ];
}

function wrongEnds(
  seen: readonly Seen[],
  unlockedAtMs: number,
  holds: ReadonlyMap<string, number>,
): string[] {
  const tooEarly = seen.filter(({ firstByteAtMs }) => firstByteAtMs !== null && firstByteAtMs < unlockedAtMs);
  const unheld = seen.filter(
    ({ outcome, requestId, firstByteAtMs }) =>
      outcome === 'success' &&
      (holds.get(requestId ?? '') ?? Number.POSITIVE_INFINITY) > (firstByteAtMs ?? 0) + 1,
  );
  const others = seen.filter(({ outcome, code }) => outcome !== 'success' && code !== 'insufficient_balance');
  const kinds = new Set(others.map(({ outcome, code }) => code ?? outcome));
  return [
    ...(tooEarly.length === 0 ? [] : [`${tooEarly.length} got something while nothing could be held`]),
    ...(unheld.length === 0 ? [] : [`${unheld.length} delivered before their hold was committed`]),
    ...(others.length === 0 ? [] : [`${others.length} other ends: ${[...kinds].join(', ')}`]),
  ];
}

export async function runEarlyCalls(words: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...words],
    options: { rounds: { type: 'string', default: '1' }, prepared: { type: 'string' } },
  });
  const rounds = Number(values.rounds);
  const options = {
    nodeCount: gateways,
    preparedFolder: values.prepared,
    settings: { METRICS_TOKEN: metricsToken },
  };
  return await runTrial(options, async (world, sql) => {
    const wrong: string[] = [];
    for (let round = 0; round < rounds; round++) {
      const judged = await runRound(world, sql, round);
      console.log(judged.summary);
      wrong.push(...judged.wrong);
    }
    return {
      wrong,
      summary: `no more is delivered than ${balanceText} USD covers, and no more begun early than ${gateways} × ${maxEarlyPerGateway}, in ${rounds} bursts`,
    };
  });
}
