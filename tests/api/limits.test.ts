/** Limits as clients meet them, on two gateways. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { SQL } from 'bun';
import OpenAI from 'openai';
import { parseMoney } from '../../src/lib/money.ts';
import { createLimitAs, type LimitDraft } from '../../src/limits/limit-store.ts';
import { type ChatFixture, chatCatalog, type ErrorBody, openChatFixture } from '../support/chat-fixture.ts';
import { runCommand } from '../support/commands.ts';
import { makeClockSettable, setClockToMinuteStart } from '../support/database-clock.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';

let fixture: ChatFixture;
let second: Gateway;

beforeAll(async () => {
  fixture = await openChatFixture(chatCatalog, async (environment) => {
    const sql = new SQL(environment.DATABASE_URL ?? '', { max: 1 });
    await makeClockSettable(sql);
    await sql.close();
    return await startGateway(environment);
  });
  second = await startGateway(fixture.environment);
});

// What counts by the minute must not meet the end of one.
beforeEach(() => setClockToMinuteStart(fixture.database.sql));

afterAll(async () => {
  await second.stop();
  await fixture.close();
});

type Change = Partial<Omit<LimitDraft, 'amount'>> & Pick<LimitDraft, 'kind'> & { amount: string };

async function limit(accountId: string, { amount, ...draft }: Change) {
  const actor = { door: 'cli', shellUser: 'test@test' } as const;
  const common = { accountId, scope: 'account', keyId: null, endUser: null, increase: null } as const;
  return await fixture.database.sql.begin((transaction) =>
    createLimitAs(transaction, actor, {
      ...common,
      setBy: 'operator',
      ...draft,
      amount: parseMoney(amount) ?? 0n,
    }),
  );
}

async function chat(
  key: string,
  body: object = {},
  headers: Record<string, string> = {},
  gateway: Gateway = fixture.gateway,
) {
  const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({
      model: 'full',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'hello' }],
      ...body,
    }),
  });
  const rate = (name: string) => response.headers.get(`x-ratelimit-${name}-tokens`);
  return {
    status: response.status,
    headers: response.headers,
    tokens: { limit: rate('limit'), remaining: rate('remaining'), reset: rate('reset') },
    body: (await response.json()) as ErrorBody,
  };
}

test('of a hundred requests at once with two keys on two gateways, exactly those get through that fit', async () => {
  const { account, key } = await fixture.customer('100', '--rpm', '100000');
  const { key: other } = await anotherKey(account);
  // Both gateways know these keys already, and nothing of the limit that comes now.
  for (const gateway of [fixture.gateway, second])
    for (const one of [key, other]) expect((await chat(one, {}, {}, gateway)).status).toBe(200);
  await limit(account, { kind: 'requests_per_minute', amount: '7' });
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, place) =>
      chat(place % 3 ? key : other, {}, {}, place % 2 ? fixture.gateway : second),
    ),
  );
  const refused = answers.filter(({ status }) => status === 429);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(7);
  expect(refused).toHaveLength(93);
  expect(refused[0]?.body.error).toMatchObject({
    code: 'rate_limit_exceeded',
    message: 'The limit of 7 requests per minute for this account is reached.',
  });
  const waitSeconds = Number(refused[0]?.headers.get('retry-after'));
  expect(waitSeconds).toBeGreaterThan(0);
  expect(waitSeconds).toBeLessThanOrEqual(60);
});

async function anotherKey(account: string): Promise<{ key: string }> {
  return await runCommand(['key', 'create', '--account', account, '--rpm', '100000'], fixture.environment);
}

test('a limit on spend refuses with 403, what is left, and when it frees', async () => {
  const { account, key } = await fixture.customer('100');
  await limit(account, { kind: 'spend_per_day', amount: '0.002' });
  const refused = await chat(key, { max_tokens: 1000 });
  expect(refused).toMatchObject({ status: 403, body: { error: { code: 'spend_limit_exceeded' } } });
  expect(refused.body.error.message).toMatch(
    /^This request may cost up to \$0\.00\d+; \$0\.002000 is left of the limit of \$0\.002000 per day for this account, until \d{4}-\d\d-\d\dT00:00Z\. Set max_tokens to \d+ or less\.$/,
  );
  const fitting = Number(/max_tokens to (\d+)/.exec(refused.body.error.message)?.[1]);
  expect((await chat(key, { max_tokens: fitting })).status).toBe(200);
});

test('tokens are counted, shown, and bound what a provider is asked for', async () => {
  const { account, key } = await fixture.customer('100');
  await limit(account, { kind: 'tokens_per_minute', amount: '8000' });
  const client = new OpenAI({ apiKey: key, baseURL: `${fixture.gateway.origin}/v1`, maxRetries: 0 });
  const answer = await client.chat.completions
    .create({ model: 'full', messages: [{ role: 'user', content: 'hello' }] })
    .withResponse();
  // The input's bound and 1,000 tokens of output, which is less than a quarter of the limit.
  expect(Number(answer.response.headers.get('x-ratelimit-remaining-tokens'))).toBeLessThan(7000);
  expect(answer.response.headers.get('x-ratelimit-limit-tokens')).toBe('8000');
  expect(answer.response.headers.get('x-ratelimit-reset-tokens')).toMatch(/^\d+(\.\d+)?s$/);
  const [row] = await fixture.database.sql`
    select used::int as used from limit_meters join limits on limits.id = limit_id where account_id = ${account}`;
  expect(row.used).toBe(answer.data.usage?.total_tokens);

  const tight = await fixture.customer('100');
  await limit(tight.account, { kind: 'tokens_per_minute', amount: '12000' });
  const short = await chat(tight.key, { model: 'plain', max_tokens: undefined });
  expect(short).toMatchObject({ status: 200, tokens: { limit: '12000', remaining: '9000' } });
  // It may use a quarter of what is left, which has to be enough for its input as well.
  const { body } = fixture.sandbox.entries.at(-1) ?? {};
  expect((body as { max_tokens: number }).max_tokens).toBeWithin(1024, 3000 - 1024);
  const refused = await chat(tight.key, { model: 'plain', max_tokens: 12_000 });
  expect(refused).toMatchObject({ status: 429, body: { error: { code: 'rate_limit_exceeded' } } });
  expect(refused.body.error.message).toMatch(
    /^This request may use 13,\d{3} tokens or more; [\d,]+ are left of the 12,000 tokens per minute for this account\. It never fits: shorten it, or set a lower max_tokens\.$/,
  );
});

test('each end user has a limit of its own, and one may have another', async () => {
  const { account, key } = await fixture.customer('100');
  await limit(account, { scope: 'each_end_user', kind: 'requests_per_minute', amount: '1' });
  const as = async (endUser: string) => (await chat(key, {}, { 'x-end-user': endUser })).status;
  expect([await as('ann'), await as('ann'), await as('bob'), await as('bob')]).toEqual([200, 429, 200, 429]);
  await limit(account, { scope: 'end_user', endUser: 'ann', kind: 'requests_per_minute', amount: '2' });
  expect([await as('ann'), await as('ann')]).toEqual([200, 429]);
  expect((await chat(key)).status).toBe(200);
});
