/** Requests of a gateway, counted: against what was asked of it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type {
  ProviderSeries,
  RequestFigures,
  RequestGroups,
  RequestSeries,
} from '../../src/console/request-contract.ts';
import { type ConsoleFixture, openConsoleFixture } from '../support/console-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { faultDialects } from '../support/fault-dialects.ts';

let fixture: ConsoleFixture;

beforeAll(async () => {
  fixture = await openConsoleFixture();
});

afterAll(() => fixture.close());

async function ask(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  const response = await fetch(`${fixture.gateway.origin}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${fixture.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  await response.text();
  return response;
}

const apis: Readonly<Record<string, string>> = {
  'chat completions': 'chat_completions',
  Messages: 'messages',
  Responses: 'responses',
};

type Recorded = Readonly<{ api: string; finish_reason: string | null; streaming: boolean }>;

/** The last Generation that was asked for. */
async function lastRecorded(): Promise<Recorded | null> {
  const [row] = await fixture.database.sql<Recorded[]>`
    select api, finish_reason, streaming from finished_generations order by id desc limit 1`;
  return row === undefined ? null : { ...row };
}

async function generationCount(): Promise<number> {
  const [row] = await fixture.database.sql<
    [{ count: number }]
  >`select count(*)::int as count from generations`;
  return row.count;
}

describe('a Generation records its endpoint and why its answer ended', () => {
  for (const { name, path, body, headers } of faultDialects)
    for (const stream of [false, true])
      for (const reason of ['stop', 'length', 'content_filter'])
        test(`${name}, ${stream ? 'streamed' : 'non-streamed'}: ${reason}`, async () => {
          const response = await ask(
            path,
            body('full', stream, `[[finish ${reason}]]`),
            headers(fixture.key),
          );
          expect(response.status).toBe(200);
          expect(await lastRecorded()).toEqual({
            api: apis[name] ?? '',
            finish_reason: reason,
            streaming: stream,
          });
        });

  test('images have no reason', async () => {
    await ask('/v1/images/generations', { model: 'picture', prompt: 'A house', size: '1024x1024' });
    expect(await lastRecorded()).toEqual({ api: 'images', finish_reason: null, streaming: false });
  });

  test('a failure has none', async () => {
    await ask('/v1/chat/completions', {
      model: 'gone',
      messages: [{ role: 'user', content: 'Hello' }],
    });
    expect(await lastRecorded()).toEqual({
      api: 'chat_completions',
      finish_reason: null,
      streaming: false,
    });
  });

  test('the playground counts as the endpoint that it shows', async () => {
    const before = await generationCount();
    const response = await fixture.people.owner.send(
      'POST',
      `/api/console/accounts/${fixture.account}/playground/chat`,
      { key_id: fixture.keyId, request: { model: 'full', messages: [{ role: 'user', content: 'Hello' }] } },
    );
    await response.text();
    await eventually('the Generation', async () => (await generationCount()) > before);
    expect(await lastRecorded()).toMatchObject({ api: 'chat_completions', finish_reason: 'stop' });
  });
});

async function get<Body>(path: string, person: 'owner' | 'operator' = 'owner'): Promise<Body> {
  const prefix = person === 'owner' ? `/api/console/accounts/${fixture.account}` : '/api/console/operator';
  const response = await fixture.people[person].send('GET', prefix + path);
  expect(response.status).toBe(200);
  return (await response.json()) as Body;
}

const countOf = (figures: RequestFigures) => figures.completed + figures.failed + figures.cancelled;

/** How many Generations the database has that a condition holds for. */
async function counted(condition: string): Promise<number> {
  const [row] = await fixture.database.sql.unsafe(
    `select count(*)::int as count from generations where ${condition}`,
  );
  return row.count;
}

describe('series', () => {
  beforeAll(async () => {
    const messages = [{ role: 'user', content: 'Hello' }];
    await ask('/v1/chat/completions', { model: 'fallback', messages });
    await ask('/v1/chat/completions', { model: 'full', messages }, { 'x-end-user': 'jo' });
  });

  const filters = [
    ['', 'true'],
    ['status=failed', `status = 'failed'`],
    ['model=fallback', `model = 'fallback'`],
    ['provider=Backup', `provider = 'Backup'`],
    ['error_code=provider_unavailable', `error_code = 'provider_unavailable'`],
    ['api=messages', `api = 'messages'`],
    ['streamed=yes', 'streaming'],
    ['streamed=no&status=completed', `not streaming and status = 'completed'`],
    ['fallback=yes', 'fallback'],
    ['min_cost=0.01', 'cost_total >= 0.01'],
    ['min_duration_ms=1000000', 'false'],
    ['end_user=jo', `id in (select generation_id from generation_attributions where label = 'jo')`],
    ['end_user=jo&api=messages', 'false'],
  ] as const;

  for (const person of ['owner', 'operator'] as const)
    for (const [filter, condition] of filters)
      test(`as ${person}: ${filter || 'everything'}`, async () => {
        const series = await get<RequestSeries>(`/requests/series?${filter}`, person);
        expect(countOf(series.totals)).toBe(await counted(condition));
        expect(series.points.reduce((sum, point) => sum + countOf(point), 0)).toBe(await counted(condition));
        expect(series.in_progress).toBe(0);
        expect(series.counted_from).toBeNull();
        if (condition !== 'false') expect(await counted(condition)).toBeGreaterThan(0);
      });

  test('charges are those of the ledger', async () => {
    const [{ charged }] = await fixture.database.sql<[{ charged: string }]>`
      select -sum(amount) as charged from ledger_entries where kind = 'charge' and account_id = ${fixture.account}`;
    expect((await get<RequestSeries>('/requests/series')).totals.cost).toBe(charged);
  });

  test('of a key and of another account', async () => {
    const own = await get<RequestSeries>(`/requests/series?key=${fixture.keyId}`);
    expect(countOf(own.totals)).toBe(await counted('true'));
    const others = await get<RequestSeries>(
      `/requests/series?account=${fixture.strangersAccount}`,
      'operator',
    );
    expect(countOf(others.totals)).toBe(0);
  });

  const mistakes = [
    ['status=broken', 'status'],
    ['api=telepathy', 'api'],
    ['from=yesterday', 'from'],
    ['from=2026-01-02&to=2026-01-01', 'from'],
    ['from=2020-01-01', 'from'],
    ['streamed=maybe', 'streamed'],
    ['key=mine', 'key'],
    ['min_cost=-1', 'min_cost'],
    ['min_duration_ms=1.5', 'min_duration_ms'],
    ['tag=nothing', 'tag'],
    ['model=', 'model'],
  ] as const;

  for (const [query, param] of mistakes)
    test(`${query} is an error`, async () => {
      const response = await fixture.people.owner.send(
        'GET',
        `/api/console/accounts/${fixture.account}/requests/series?${query}`,
      );
      const { error } = (await response.json()) as { error: { code: string; param: string } };
      expect([response.status, error.code, error.param]).toEqual([400, 'invalid_parameter', param]);
    });

  test('a key of someone else is not found', async () => {
    const response = await fixture.people.owner.send(
      'GET',
      `/api/console/accounts/${fixture.account}/requests/series?key=${fixture.strangersKeyId}`,
    );
    expect(response.status).toBe(404);
    await response.body?.cancel();
  });
});

describe('groups', () => {
  test('by each of what there is', async () => {
    for (const by of ['key', 'model', 'provider', 'error_code']) {
      const { data } = await get<RequestGroups>(`/requests/groups?by=${by}`);
      const first = await get<RequestGroups>(`/requests/groups?by=${by}&limit=1`);
      expect(first.data).toEqual(data.slice(0, 1));
      expect(data.reduce((sum, group) => sum + countOf(group), 0)).toBe(await counted('true'));
    }
    const { data } = await get<RequestGroups>('/requests/groups?by=account&order=cost', 'operator');
    expect(data.map(({ value }) => value)).toEqual([fixture.account]);
    expect(data[0]?.name).toBeString();
  });

  test('customers have one account, and other filters are refused', async () => {
    for (const query of [
      'by=account',
      'by=colour',
      'by=model&order=name',
      'by=model&limit=0',
      '',
      'by=model&api=messages',
    ]) {
      const response = await fixture.people.owner.send(
        'GET',
        `/api/console/accounts/${fixture.account}/requests/groups?${query}`,
      );
      expect(response.status).toBe(400);
      await response.body?.cancel();
    }
  });
});

test('the calls to a provider', async () => {
  const gone = await get<ProviderSeries>('/providers/Gone/series', 'operator');
  const [{ failed }] = await fixture.database.sql<[{ failed: number }]>`
    select count(*)::int as failed from attempts where provider = 'Gone' and status = 'failed'`;
  expect(gone.totals).toMatchObject({ succeeded: 0, failed, duration_ms_p95: null });
  expect(gone.totals.rejected).toBe(0);
  expect(gone.errors).toEqual([{ code: 'provider_unavailable', failed, points: expect.any(Array) }]);
  expect(gone.errors[0]?.points).toEqual(gone.points.map((point) => point.failed));
  expect(gone.models.map(({ model }) => model).sort()).toEqual(['fallback', 'gone']);
  const main = await get<ProviderSeries>('/providers/Main/series', 'operator');
  expect(main.totals.succeeded).toBeGreaterThan(0);
  expect(main.totals.duration_ms_p50).toBeNumber();
});
