/** A real gateway with the sandbox on the embedded database, keys for it, and the run of one script against it. */
import { type Sandbox, startSandbox } from '../../sandbox/server.ts';
import { launchGateway, removeTemporaryFolders, temporaryFolder, tollgateJson } from '../support/gateway.ts';
import type { Client } from './clients.ts';
import { formatModels, writeCatalog } from './formats.ts';
import { type Outcome, readOutcomes } from './outcome.ts';
import type { Prepared } from './prepare.ts';

const maxRunMs = 300_000;

export type ClientGateway = Readonly<{
  origin: string;
  key: string;
  /** Of an account of its own. */
  createKey: (name: string, credit: string, requestsPerMinute: number) => Promise<string>;
  /** Everything that the gateway has logged. */
  log: () => string;
  /** Serves the models that depend on the format of a provider, and logs what it reported. */
  sandbox: Sandbox;
  close: () => Promise<void>;
}>;

const keptEntries = 1_000;
/** More requests per minute than any client sends. */
export const unlimited = 100_000;
/** No test runner is waiting, and the machine may be busy. */
const maxStartMs = 300_000;

export async function openClientGateway(): Promise<ClientGateway> {
  const sandbox = startSandbox({ keepEntries: keptEntries });
  const environment = {
    TOLLGATE_DATA: temporaryFolder(),
    TOLLGATE_CATALOG: writeCatalog(sandbox.url),
    FORMATS_KEY: 'any-key',
  };
  const gateway = await launchGateway(environment, { readyMs: maxStartMs }).listening;
  const createKey: ClientGateway['createKey'] = async (name, credit, requestsPerMinute) => {
    const account = ['account', 'create', '--name', name, '--credit', credit];
    const { id } = await tollgateJson<{ id: string }>(account, environment);
    const key = ['key', 'create', '--account', id, '--rpm', String(requestsPerMinute)];
    return (await tollgateJson<{ key: string }>(key, environment)).key;
  };
  return {
    origin: gateway.origin,
    key: await createKey('Clients', '100', unlimited),
    createKey,
    log: gateway.output,
    sandbox,
    close: async () => {
      await gateway.stop();
      await sandbox.stop();
      removeTemporaryFolders();
    },
  };
}

export function clientEnvironment({ origin, key }: ClientGateway): Record<string, string> {
  return {
    HOME: process.env.HOME ?? '',
    OPENAI_BASE_URL: `${origin}/v1`,
    OPENAI_API_KEY: key,
    ANTHROPIC_BASE_URL: origin,
    ANTHROPIC_API_KEY: key,
    MODEL: 'sandbox-chat',
    IMAGE_MODEL: 'sandbox-image',
    MESSAGES_MODEL: formatModels.Messages,
    RESPONSES_MODEL: formatModels.Responses,
    // LiteLLM, and with it aider, would look for prices on the internet.
    LITELLM_LOCAL_MODEL_COST_MAP: 'True',
  };
}

export async function runScript(
  { command, cwd, path }: Prepared,
  { version }: Client,
  environment: Record<string, string>,
): Promise<{ outcomes: Outcome[]; version: string }> {
  const child = Bun.spawn([...command], {
    cwd,
    env: { ...environment, PATH: path },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'ignore',
    timeout: maxRunMs,
  });
  const outcomes = readOutcomes(await child.stdout.text());
  return { outcomes, version: version ?? curlVersion() };
}

function curlVersion(): string {
  return /^curl (\S+)/.exec(Bun.spawnSync(['curl', '--version']).stdout.toString())?.[1] ?? '';
}
