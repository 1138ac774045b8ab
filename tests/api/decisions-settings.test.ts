/** Decisions without a decision provider: from a chat model, from the sandbox of a first start, and from nobody. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { findMargins } from '../../src/console/operator/margin-queries.ts';
import { unchargedQuery } from '../../src/reconciliation/metered.ts';
import { dayOf } from '../../src/usage/days.ts';
import { chatCatalog } from '../support/chat-fixture.ts';
import { addCheapUser } from '../support/cheap-user.ts';
import { signIn } from '../support/console-fixture.ts';
import {
  asking,
  choice,
  type DecisionsFixture,
  decisionIn,
  errorIn,
  openDecisionsFixture,
  score,
  send,
} from '../support/decisions-fixture.ts';
import { preparedFolder } from '../support/embedded.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, temporaryFolder, tollgate, tollgateJson } from '../support/gateway.ts';

const judge = `
  judge: { workload: chat, capabilities: [text_input, text_output, structured_output], pricing: { billing_type: token, input: "1",
           output: "2" }, providers: [{ provider: main, cost: { input: "0.3", output: "0.7", cache_read: "0.1" } }] }`;

let fixture: DecisionsFixture;

beforeAll(async () => {
  fixture = await openDecisionsFixture(
    () => ({ DECISIONS_CHAT_MODEL: 'judge' }),
    (url) => chatCatalog(url, { providers: '', models: judge }),
  );
}, 60_000);
afterAll(() => fixture.close());

describe('from a chat model', () => {
  const full = { ...asking('', { route: choice, grade: score }), model: 'judge' };

  test('200, with the same answers as from a provider of decisions, marked as what they are', async () => {
    fixture.sandbox.directives =
      '[[say {"q1":0.25,"q2":{"o1":0.6,"o2":0.2},"q3":{"l0":0,"l1":0.5,"l2":0.5}}]] [[usage 70 20]]';
    const { model, answers, usage, charge, service } = await decisionIn(await send(fixture, full));
    fixture.sandbox.directives = '';
    expect(model).toBe('judge');
    expect(answers.safe).toEqual({ type: 'noul', noul: 0.25 });
    expect(answers.route).toMatchObject({ type: 'choice', choice: 'left' });
    expect(answers.grade).toEqual({
      type: 'score',
      score: 1.5,
      probabilities: { 0: 0, 1: 0.5, 2: 0.5 },
      legend: { 0: 'bad', 1: 'fair', 2: 'good' },
    });
    expect(usage).toEqual({ input_tokens: 70, output_tokens: 20 });
    expect(charge).toBeUndefined();
    expect(service).toMatchObject({ provider: 'Main (asked judge)', upstream_status: 200 });
  });

  test('200 from a sandbox that only fills in the schema', async () => {
    const { answers } = await decisionIn(await send(fixture, full));
    expect(Object.keys(answers)).toEqual(['safe', 'route', 'grade']);
  });

  test('the same errors, each with the name of the model that was called', async () => {
    const failing = async (directives: string) => {
      const { status, type, provider } = await errorIn(
        await send(fixture, { ...asking(directives), model: 'judge' }),
      );
      expect(provider).toBe('Main (asked judge)');
      return `${status} ${type}`;
    };
    expect(await failing('[[status 422]]')).toBe('422 provider_error');
    expect(await failing('[[status 401]]')).toBe('502 provider_authentication_error');
    expect(await failing('[[status 503]]')).toBe('502 provider_error');
    expect(await failing('[[say no]]')).toBe('502 invalid_response');
    expect(await failing('[[close]]')).toBe('502 connection_error');
    expect(await failing('[[status 429]]')).toBe('429 rate_limit');
    expect(await failing('[[status 529]]')).toBe('529 provider_overloaded');
  });

  test('400 for any other model, also one of the catalogue', async () => {
    const error = await errorIn(await send(fixture, { ...full, model: 'tiered' }));
    expect(error).toMatchObject({ type: 'validation_error', message: expect.stringContaining('"judge"') });
  });

  describe('nobody pays', () => {
    test('so there are no Generations', async () => {
      const { sql } = fixture.database;
      const [row] = await sql`select count(*)::int as count from generations`;
      expect(row.count).toBe(0);
    });

    test('but what each call costs the operator is recorded, as far as the provider may bill it', async () => {
      const { sql } = fixture.database;
      const recorded = async (directives: string) => {
        await sql`delete from decision_calls`;
        await (await send(fixture, { ...asking(directives), model: 'judge' })).text();
        const rows = await sql`
          select model, provider, input_tokens::int as input, cache_read_tokens::int as read, output_tokens::int as output,
                 cost::text from decision_calls`;
        return [...rows].map((row) => ({ ...row }));
      };
      const known = { model: 'judge', provider: 'Main', input: 1000, read: null, output: 10 };
      expect(await recorded('[[usage 1000 10]]')).toEqual([{ ...known, cost: '0.000307000000' }]);
      expect(await recorded('[[usage 1000 10]] [[cached 400]]')).toEqual([
        { ...known, read: 400, cost: '0.000227000000' },
      ]);
      // An answer that does not fit the questions was made all the same.
      expect(await recorded('[[say no]] [[usage 1000 10]]')).toEqual([{ ...known, cost: '0.000307000000' }]);
      const unknown = { ...known, input: null, output: null, cost: null };
      expect(await recorded('[[close]]')).toEqual([unknown]);
      expect(await recorded('[[status 422]]')).toEqual([]);
      expect(await recorded('[[status 529]]')).toEqual([]);
    });

    test('and is part of the margins and of what the bill is compared with', async () => {
      const { sql } = fixture.database;
      await sql`delete from decision_calls`;
      for (const directives of ['[[usage 1000 10]]', '[[close]]'])
        await (await send(fixture, { ...asking(directives), model: 'judge' })).text();
      const today = dayOf(new Date());
      expect([...(await unchargedQuery(sql, 'Main', today, today))]).toMatchObject([
        { day: today, model: 'judge', cost: '0.000307000000', without_usage: 1, without_cost: 0 },
      ]);
      const operator = await addCheapUser(sql, 'operator@example.com', 'correct horse battery', {
        accountId: null,
      });
      const [row, ...others] = await findMargins(sql, operator.id, { from: today, to: today }, 'account', 10);
      expect(others).toEqual([]);
      expect(row).toMatchObject({
        name: '',
        label: 'Decisions',
        requests: 0n,
        unchargedAttempts: 2n,
        unchargedCost: 307_000_000n,
        unknownAttempts: 1n,
      });
    });
  });
});

describe('settings that exclude each other', () => {
  test('a gateway with both does not start, and says which', async () => {
    const { exitCode, stderr } = await tollgate(['serve'], {
      ...fixture.environment,
      DECISIONS_CHAT_MODEL: 'full',
      DECISIONS_BASE_URL: 'https://decisions.example.com/v1',
    });
    expect(exitCode).toBe(1);
    expect(stderr).toContain('DECISIONS_CHAT_MODEL and DECISIONS_BASE_URL are both set');
  });

  test('one without the key warns at boot and answers 503 not_configured', async () => {
    const incomplete = await startGateway({
      ...fixture.environment,
      TOLLGATE_DATA: temporaryFolder(),
      DECISIONS_BASE_URL: `${fixture.sandbox.url}/v1`,
      DECISIONS_MODEL: 'judge-latest',
    });
    try {
      await eventually('the warning', () => incomplete.output().includes('decisions cannot be run'));
      expect(incomplete.output()).toContain('"problems":["DECISIONS_API_KEY is not set."]');
      const { status, type } = await errorIn(await send(fixture, asking(), { origin: incomplete.origin }));
      expect([status, type]).toEqual([503, 'not_configured']);
    } finally {
      await incomplete.stop();
    }
  });
});

test('a first start has the sandbox decide', async () => {
  const environment = { TOLLGATE_DATA: await preparedFolder() };
  const demo = await startGateway(environment);
  try {
    const words = ['--email', 'someone@example.com', '--password', 'correct horse battery', '--admin'];
    // Only the program itself finds the database of such a gateway.
    await tollgateJson(['user', 'create', ...words], environment);
    const cookie = await signIn(demo.origin, 'someone');
    const { model, service } = await decisionIn(await send({ deciding: demo, cookie }, asking()));
    expect(model).toBe('sandbox-decision-2026-11-01');
    expect(service.provider).toBe('Sandbox');
  } finally {
    await demo.stop();
  }
}, 60_000);
