/** Decisions without a decision provider: from a chat model, from the sandbox of a first start, and from nobody. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
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

let fixture: DecisionsFixture;

beforeAll(async () => {
  fixture = await openDecisionsFixture(() => ({ DECISIONS_CHAT_MODEL: 'full' }));
}, 60_000);
afterAll(() => fixture.close());

describe('from a chat model', () => {
  const full = { ...asking('', { route: choice, grade: score }), model: 'full' };

  test('200, with the same answers as from a provider of decisions, marked as what they are', async () => {
    fixture.sandbox.directives =
      '[[say {"q1":0.25,"q2":{"o1":0.6,"o2":0.2},"q3":{"l0":0,"l1":0.5,"l2":0.5}}]] [[usage 70 20]]';
    const { model, answers, usage, charge, service } = await decisionIn(await send(fixture, full));
    fixture.sandbox.directives = '';
    expect(model).toBe('full');
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
    expect(service).toMatchObject({ provider: 'Main (asked full)', upstream_status: 200 });
  });

  test('200 from a sandbox that only fills in the schema', async () => {
    const { answers } = await decisionIn(await send(fixture, full));
    expect(Object.keys(answers)).toEqual(['safe', 'route', 'grade']);
  });

  test('the same errors, each with the name of the model that was called', async () => {
    const failing = async (directives: string) => {
      const { status, type, provider } = await errorIn(
        await send(fixture, { ...asking(directives), model: 'full' }),
      );
      expect(provider).toBe('Main (asked full)');
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
    expect(error).toMatchObject({ type: 'validation_error', message: expect.stringContaining('"full"') });
  });

  test('nobody pays', async () => {
    const { sql } = fixture.database;
    const [row] = await sql`select count(*)::int as count from generations`;
    expect(row.count).toBe(0);
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
