/**
 * npm run chaos -- --admission ROUNDS: bursts of 1,000 concurrent requests to two gateways, with a balance, a monthly limit
 * or a rate limit that covers exactly k of them. Exactly k may be admitted.
 */
import { parseArgs } from 'node:util';
import type { SQL } from 'bun';
import { createAccount } from '../../src/accounts/account-store.ts';
import { createKey } from '../../src/keys/key-store.ts';
import { formatMoneyShort } from '../../src/lib/money.ts';
import { Random } from '../random.ts';
import { boundsOf } from '../world/bounds.ts';
import { holdOf, plainModel } from '../world/catalog.ts';
import type { World } from '../world/world.ts';
import { call, type Seen } from './client-call.ts';
import type { RequestPlan } from './request-plan.ts';
import { runTrial } from './trial.ts';

const burst = 1_000;
const plenty = 1_000_000;
const minuteMs = 60_000;
const maxTokens = 16;

type Limit = 'balance' | 'monthly limit' | 'requests per minute';
type Round = Readonly<{ limit: Limit; covered: number }>;

const refusals: Readonly<Record<Limit, string>> = {
  balance: 'insufficient_balance',
  'monthly limit': 'monthly_spend_limit_exceeded',
  'requests per minute': 'rate_limit_exceeded',
};

/** The provider reports as much as was held, so that settling a request frees nothing. */
function planRequest(token: string): RequestPlan {
  const content = contentOf(token);
  return {
    token,
    kind: 'burst',
    keyName: 'rich',
    streaming: false,
    abortAfterMs: null,
    answer: token,
    bounds: boundsOf(content, maxTokens),
    body: { model: plainModel, max_tokens: maxTokens, messages: [{ role: 'user', content }] },
  };
}

/** Always of the same length, the number in it included. */
function contentOf(token: string): string {
  const contentWith = (inputTokens: number) =>
    `[[say ${token}]] [[delay 300]] [[usage ${inputTokens} ${maxTokens}]] [[cache-write ${inputTokens}]]`;
  return contentWith(boundsOf(contentWith(1_000), maxTokens).inputTokens);
}

const tokenOf = (round: number, request: number) =>
  `r${`${round}`.padStart(3, '0')}-${`${request}`.padStart(4, '0')}`;

/** What each request of a burst holds and costs. */
const holdOfOne = holdOf(boundsOf(contentOf(tokenOf(0, 0)), maxTokens));

type JudgedRound = Readonly<{ round: Round; admitted: number; seconds: number; wrong: readonly string[] }>;

async function runRound(world: World, sql: SQL, number: number, round: Round): Promise<JudgedRound> {
  const { limit, covered } = round;
  const amount = holdOfOne * BigInt(covered);
  const account = await createAccount(
    sql,
    `Round ${number}`,
    limit === 'balance' ? amount : holdOfOne * 10_000n,
  );
  const key = await createKey(sql, {
    accountId: account.id,
    name: limit,
    requestsPerMinute: limit === 'requests per minute' ? covered : plenty,
    monthlyLimit: limit === 'monthly limit' ? amount : null,
    allowedModels: null,
    expiresAt: null,
  });
  if (key === null) throw new Error('The account is missing.');
  // Money and rate should run out here, not concurrency.
  await sql`update api_keys set max_concurrent = 100000 where id = ${key.id}`;
  const startedAt = performance.now();
  const seen = await Promise.all(
    Array.from({ length: burst }, (_, request) => {
      const node = world.nodes[request % world.nodes.length];
      if (!node) throw new Error('There is no gateway.');
      return call(node, key.key, planRequest(tokenOf(number, request)));
    }),
  );
  const elapsedMs = performance.now() - startedAt;
  const admitted = seen.filter(({ outcome }) => outcome === 'success').length;
  // Time passes during the burst, so the rate limit may admit a few more.
  const freed = limit === 'requests per minute' ? Math.floor((elapsedMs * covered) / minuteMs) : 0;
  return {
    round,
    admitted,
    seconds: elapsedMs / 1000,
    wrong: [
      ...(admitted < covered || admitted > covered + freed ? [`${admitted} instead of ${covered}`] : []),
      ...unexpected(seen, refusals[limit]),
      ...(await wrongBooks(sql, account.id, admitted, account.balance)),
    ],
  };
}

function unexpected(seen: readonly Seen[], refusal: string): string[] {
  const others = seen.filter(({ outcome, code }) => outcome !== 'success' && code !== refusal);
  const kinds = new Set(others.map(({ outcome, code }) => `${outcome} ${code ?? ''}`));
  return others.length === 0 ? [] : [`${others.length} other ends: ${[...kinds].join(', ')}`];
}

type BookRow = { balance: string; held: string; generations: bigint };

async function wrongBooks(sql: SQL, accountId: string, admitted: number, opening: bigint): Promise<string[]> {
  const [row] = await sql<BookRow[]>`
    select balance, held, (select count(*) from generations where account_id = accounts.id) as generations
    from accounts where id = ${accountId}`;
  const expected = formatMoneyShort(opening - holdOfOne * BigInt(admitted));
  const balance = row?.balance.replace(/\.?0+$/, '') ?? '';
  return [
    ...(balance === expected ? [] : [`the balance is ${balance} and not ${expected}`]),
    ...(row?.generations === BigInt(admitted) ? [] : [`${row?.generations} Generations`]),
    ...(/^0\.0*$/.test(row?.held ?? '') ? [] : [`${row?.held} is still held`]),
  ];
}

/** Every limit in every round; how many are covered differs from round to round. */
function planRounds(count: number, random: Random): Round[] {
  return Array.from({ length: count }, (): Round[] => [
    { limit: 'balance', covered: random.between(1, burst - 1) },
    { limit: 'monthly limit', covered: random.between(1, burst - 1) },
    { limit: 'requests per minute', covered: random.between(1, 20) },
  ]).flat();
}

export async function runAdmission(words: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...words],
    options: {
      rounds: { type: 'string', default: '2' },
      seed: { type: 'string', default: '1' },
      prepared: { type: 'string' },
    },
  });
  const rounds = planRounds(Number(values.rounds), new Random(Number(values.seed)));
  return await runTrial({ preparedFolder: values.prepared }, async (world, sql) => {
    const wrong: string[] = [];
    for (const [number, round] of rounds.entries()) {
      const judged = await runRound(world, sql, number, round);
      console.log(formatRound(judged));
      wrong.push(...judged.wrong.map((each) => `${round.limit}: ${each}`));
    }
    return { wrong, summary: `admission is exact in ${rounds.length} bursts` };
  });
}

function formatRound({ round, admitted, seconds, wrong }: JudgedRound): string {
  const result = wrong.length === 0 ? 'exact ' : 'WRONG ';
  return `${result} ${round.limit} covers ${round.covered} of ${burst}: ${admitted} admitted in ${seconds.toFixed(1)} s ${wrong.join('; ')}`.trimEnd();
}
