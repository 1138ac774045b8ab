/** A gateway whose decisions come from a sandbox, one without a decision provider, and someone who has signed in. */
import { expect } from 'bun:test';
import type { DecisionBody, DecisionErrorBody } from '../../src/decisions/present.ts';
import { type ChatFixture, chatCatalog, openChatFixture } from './chat-fixture.ts';
import { addCheapUser } from './cheap-user.ts';
import { signIn } from './console-fixture.ts';
import { type Gateway, startGateway, temporaryFolder } from './gateway.ts';

export const decisionModel = 'sandbox-decision-latest';

export type DecisionsFixture = ChatFixture &
  Readonly<{
    /** The gateway that decides; `gateway` does not. */
    deciding: Gateway;
    /** The cookie of someone who has signed in, valid for both. */
    cookie: string;
    key: string;
    close: () => Promise<void>;
  }>;

/** `settings` are additional environment variables of the deciding gateway. */
export async function openDecisionsFixture(
  settings: (sandboxUrl: string) => Record<string, string> = (url) => ({
    DECISIONS_BASE_URL: `${url}/v1`,
    DECISIONS_API_KEY: 'provider-key-canary',
    DECISIONS_MODEL: decisionModel,
    DECISIONS_PROVIDER_NAME: 'Acme Decisions',
  }),
  catalogOf: (sandboxUrl: string) => string = chatCatalog,
): Promise<DecisionsFixture> {
  const fixture = await openChatFixture(catalogOf);
  const { environment, gateway, sandbox } = fixture;
  const { account, key } = await fixture.customer('10');
  await addCheapUser(fixture.database.sql, 'owner@example.com', 'correct horse battery', {
    accountId: account,
  });
  const deciding = await startGateway({
    ...environment,
    TOLLGATE_DATA: temporaryFolder(),
    ...settings(sandbox.url),
  });
  return {
    ...fixture,
    deciding,
    key,
    cookie: await signIn(gateway.origin, 'owner'),
    close: async () => {
      await deciding.stop();
      await fixture.close();
      for (const canary of fixture.canaries) expect(deciding.output()).not.toContain(canary);
    },
  };
}

export const noul = (instructions = 'It is safe.') => ({ type: 'noul', instructions });
export const choice = { type: 'choice', instructions: 'Where to?', criteria: { left: 'L', right: 'R' } };
export const score = { type: 'score', instructions: 'How good?', criteria: ['bad', 'fair', 'good'] };

/** A good request; a sandbox obeys the directives in it. */
export const asking = (directives = '', questions: object = {}) => ({
  model: decisionModel,
  state: { speed: 3 },
  questions: { safe: noul(`It is safe. ${directives}`), ...questions },
});

type Sending = Readonly<{
  origin?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}>;

/** Sends what the page of decisions would send. A body that is not a string is sent as JSON. */
export function send(
  { deciding, cookie }: Pick<DecisionsFixture, 'deciding' | 'cookie'>,
  body: unknown,
  { origin = deciding.origin, headers = {}, signal }: Sending = {},
): Promise<Response> {
  return fetch(`${origin}/api/decisions/run`, {
    method: 'POST',
    headers: { origin, cookie, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
}

export async function decisionIn(response: Response): Promise<DecisionBody> {
  const text = await response.text();
  if (response.status !== 200) throw new Error(`A decision was refused: ${text}`);
  const body = JSON.parse(text) as DecisionBody;
  expect(body.service.request_id).toBe(response.headers.get('x-service-request-id') ?? '');
  return body;
}

export async function errorIn(response: Response): Promise<DecisionErrorBody['error']> {
  const { error } = (await response.json()) as DecisionErrorBody;
  expect(error.status).toBe(response.status);
  expect(error.request_id).toMatch(/^req_[0-9a-f]{32}$/);
  expect(error.request_id).toBe(response.headers.get('x-service-request-id') ?? '');
  expect(response.headers.get('cache-control')).toBe('no-store');
  for (const secret of ['sandbox-private', 'canary', '    at ']) {
    expect(JSON.stringify(error)).not.toContain(secret);
    expect(JSON.stringify([...response.headers])).not.toContain(secret);
  }
  return error;
}
