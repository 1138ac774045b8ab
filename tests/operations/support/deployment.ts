/** A sandbox, a catalogue and gateways on a given database. */
import { startSandbox } from '../../../sandbox/server.ts';
import { chatCatalog, type ErrorBody } from '../../support/chat-fixture.ts';
import {
  type Gateway,
  startGateway,
  temporaryFolder,
  tollgateJson,
  writeCatalog,
} from '../../support/gateway.ts';

export type Deployment = Readonly<{
  gateway: Gateway;
  key: string;
  account: string;
  environment: Readonly<Record<string, string>>;
  chat: (
    headers?: Record<string, string>,
  ) => Promise<{ status: number; code: string | undefined; id: string }>;
  get: <Body>(path: string) => Promise<Body>;
  close: () => Promise<void>;
}>;

export async function deploy(database: Readonly<Record<string, string>>): Promise<Deployment> {
  const sandbox = startSandbox({ keepEntries: 10 });
  const environment = {
    TOLLGATE_DATA: temporaryFolder(),
    TOLLGATE_CATALOG: writeCatalog(chatCatalog(sandbox.url)),
    MAIN_KEY: 'provider-key',
    ...database,
  };
  const gateway = await startGateway(environment);
  const account = await tollgateJson<{ id: string }>(
    ['account', 'create', '--name', 'Test', '--credit', '100'],
    environment,
  );
  const { key } = await tollgateJson<{ key: string }>(
    ['key', 'create', '--account', account.id, '--rpm', '1000000'],
    environment,
  );
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return {
    gateway,
    key,
    account: account.id,
    environment,
    chat: async (more = {}) => {
      const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
        method: 'POST',
        headers: { ...headers, ...more },
        body: JSON.stringify({
          model: 'full',
          messages: [{ role: 'user', content: '[[usage 10 20]] hello' }],
        }),
      });
      const { error } = (await response.json()) as Partial<ErrorBody>;
      return {
        status: response.status,
        code: error?.code,
        id: response.headers.get('x-service-request-id') ?? '',
      };
    },
    get: async <Body>(path: string) =>
      (await (await fetch(`${gateway.origin}${path}`, { headers })).json()) as Body,
    close: async () => {
      await gateway.stop();
      await sandbox.stop();
    },
  };
}
