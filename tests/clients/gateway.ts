/** A real gateway with the sandbox on the embedded database, a key for it, and the run of one script against it. */
import { removeTemporaryFolders, startGateway, temporaryFolder, tollgateJson } from '../support/gateway.ts';
import type { Client } from './clients.ts';
import { type Outcome, readOutcomes } from './outcome.ts';
import type { Prepared } from './prepare.ts';

const maxRunMs = 300_000;

export type ClientGateway = Readonly<{ origin: string; key: string; close: () => Promise<void> }>;

export async function openClientGateway(): Promise<ClientGateway> {
  const environment = { TOLLGATE_DATA: temporaryFolder() };
  const gateway = await startGateway(environment);
  const account = await tollgateJson<{ id: string }>(
    ['account', 'create', '--name', 'Clients', '--credit', '100'],
    environment,
  );
  const { key } = await tollgateJson<{ key: string }>(
    ['key', 'create', '--account', account.id, '--rpm', '100000'],
    environment,
  );
  const close = async () => {
    await gateway.stop();
    removeTemporaryFolders();
  };
  return { origin: gateway.origin, key, close };
}

export function clientEnvironment({ origin, key }: ClientGateway): Record<string, string> {
  return {
    HOME: process.env.HOME ?? '',
    OPENAI_BASE_URL: `${origin}/v1`,
    OPENAI_API_KEY: key,
    MODEL: 'sandbox-chat',
    IMAGE_MODEL: 'sandbox-image',
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
