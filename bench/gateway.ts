/** The gateway as a subject: the real program, with its own embedded PostgreSQL and an account with enough credit. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SQL } from 'bun';
import { readConfig } from '../src/config.ts';
import { openDatabase } from '../src/database/connection.ts';
import { cleanEnvironment, freePort } from './child.ts';
import { type Format, formats, modelName, models } from './scenarios.ts';
import type { Workshop } from './workshop.ts';

export const ownCheckout = join(import.meta.dir, '..');
const programIn = (checkout: string) => join(checkout, 'bin/tollgate');
const readyDeadlineMs = 60_000;

/** A gateway that is ready. */
export type RunningGateway = Readonly<{
  port: number;
  processId: number;
  dataFolder: string;
  /** Lines of its log that say that something went wrong. */
  complaints: () => string[];
  /** Returns when it has settled everything and ended. */
  stop: () => Promise<void>;
  /** The exit code of `tollgate ledger audit`, and what it printed. */
  audit: () => Promise<{ exitCode: number; stdout: string }>;
  /** Any other command of the same program on the same database. It must succeed; its JSON is returned. */
  command: <Output>(words: readonly string[]) => Promise<Output>;
  onStop: Workshop['onStop'];
}>;

export type Gateway = RunningGateway & Readonly<{ key: string }>;

/** A gateway with other settings or of another checkout, in its own folder. */
type Variant = Readonly<{
  name: string;
  settings?: Readonly<Record<string, string>>;
  checkout?: string;
  /** Those that its version can pass on. */
  formats?: readonly Format[];
}>;

/** `bunOptions` are for the runtime, such as those that record a profile. */
export async function startGateway(
  upstreamPort: number,
  workshop: Workshop,
  bunOptions: readonly string[] = [],
  variant: Variant = { name: 'gateway' },
): Promise<Gateway> {
  const gateway = await launchGateway(upstreamPort, workshop, variant, bunOptions);
  const newAccount = ['account', 'create', '--name', 'Bench', '--credit', '1000000'];
  const { id } = await gateway.command<{ id: string }>(newAccount);
  const newKey = ['key', 'create', '--account', id, '--rpm', '1000000', '--max-concurrent', '100000'];
  const { key } = await gateway.command<{ key: string }>(newKey);
  return { ...gateway, key };
}

/** Returns when it is ready. It may have no account. */
export async function launchGateway(
  upstreamPort: number,
  workshop: Workshop,
  { name, settings = {}, checkout = ownCheckout, formats: served = formats }: Variant,
  bunOptions: readonly string[] = [],
): Promise<RunningGateway> {
  const program = programIn(checkout);
  const folder = join(workshop.folder, name);
  const dataFolder = join(folder, 'data');
  const logFile = join(folder, 'gateway.log');
  const port = freePort();
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, 'catalog.yaml'), catalog(upstreamPort, served));
  const environment = cleanEnvironment({
    PORT: `${port}`,
    TOLLGATE_DATA: dataFolder,
    TOLLGATE_CATALOG: join(folder, 'catalog.yaml'),
    LOG_LEVEL: 'warn',
    ...settings,
  });
  const command =
    bunOptions.length === 0
      ? [program, 'serve']
      : [process.execPath, ...bunOptions, join(checkout, 'src/cli/main.ts'), 'serve'];
  const child = Bun.spawn(command, {
    cwd: folder,
    env: environment,
    stdio: ['ignore', Bun.file(logFile), Bun.file(logFile)],
  });
  const stop = async () => {
    child.kill();
    await child.exited;
  };
  workshop.onStop(stop);
  try {
    await waitUntilReady(port, () => child.exitCode !== null);
  } catch (error) {
    throw new Error(`The gateway did not start: ${readFileSync(logFile, 'utf8')}`, { cause: error });
  }
  return {
    port,
    processId: child.pid,
    dataFolder,
    complaints: () =>
      readFileSync(logFile, 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('{')),
    stop,
    audit: () => run(program, ['ledger', 'audit'], environment),
    command: (words) => tollgate(program, words, environment),
    onStop: workshop.onStop,
  };
}

/** Works while the gateway is running, and after it has ended. */
export async function onDatabase<Result>(
  { dataFolder, onStop }: Pick<Gateway, 'dataFolder' | 'onStop'>,
  query: (sql: SQL) => Promise<Result>,
): Promise<Result> {
  const database = await openDatabase(readConfig({ TOLLGATE_DATA: dataFolder }));
  let closing: Promise<void> | null = null;
  const close = () => {
    closing ??= database.close();
    return closing;
  };
  // The server runs until the last process that uses it has left, and this one may be interrupted in the middle of it.
  onStop(close);
  try {
    return await query(database.sql);
  } finally {
    await close();
  }
}

const providerEntries: Readonly<Record<Format, string>> = {
  chat: 'upstream',
  messages: 'upstream-messages',
  responses: '{ provider: upstream, api: responses }',
};

function catalog(upstreamPort: number, served: readonly Format[]): string {
  const baseUrl = `http://127.0.0.1:${upstreamPort}/v1`;
  const entries = served.flatMap((format) =>
    Object.values(models).map((model) =>
      [
        `  ${modelName(model, format)}:`,
        `    name: ${modelName(model, format)}`,
        '    workload: chat',
        '    context_window: 128000',
        '    max_output_tokens: 16384',
        '    pricing: { billing_type: token, input: "0.15", output: "0.60" }',
        `    providers: [${providerEntries[format]}]`,
      ].join('\n'),
    ),
  );
  return `price_version: "bench"
providers:
  upstream: { name: Upstream, adapter: openai, base_url: "${baseUrl}" }
  upstream-messages: { name: Upstream, adapter: anthropic, base_url: "${baseUrl}" }
models:
${entries.join('\n')}
`;
}

async function waitUntilReady(port: number, hasEnded: () => boolean): Promise<void> {
  const deadlineMs = Date.now() + readyDeadlineMs;
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null);
    if (response?.ok) return;
    if (hasEnded() || Date.now() > deadlineMs) throw new Error('It is not ready.');
    await Bun.sleep(20);
  }
}

/** A command that must succeed, and its JSON. */
async function tollgate<Output>(
  program: string,
  words: readonly string[],
  environment: Record<string, string>,
): Promise<Output> {
  const { exitCode, stdout } = await run(program, [...words, '--json'], environment);
  if (exitCode !== 0) throw new Error(`tollgate ${words.join(' ')} failed.`);
  return JSON.parse(stdout) as Output;
}

async function run(program: string, words: readonly string[], environment: Record<string, string>) {
  const child = Bun.spawn([program, ...words], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [stdout, exitCode] = await Promise.all([child.stdout.text(), child.exited]);
  return { stdout, exitCode };
}
