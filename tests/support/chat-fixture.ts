/** A gateway in front of a sandbox whose log can be read, with every kind of model that a chat request can name. */
import { type Sandbox, startSandbox } from '../../sandbox/server.ts';
import { createDatabase, type TestDatabase } from './cluster.ts';
import { runCommand } from './commands.ts';
import { eventually } from './eventually.ts';
import { type Environment, type Gateway, startGateway, temporaryFolder, writeCatalog } from './gateway.ts';

const everything = '[text_input, image_input, text_output, streaming, function_calling, structured_output]';

/** These tests constantly make providers fail on purpose; circuits have their own tests. */
const patient = 'circuit: { failures: 1000 }';

/** `more` are additional providers and models, as lines of the catalogue. */
export const chatCatalog = (url: string, more = { providers: '', models: '' }) => `
price_version: "2026-11"
providers:
  main:   { name: Main, adapter: openai, base_url: ${url}/v1, api_key_env: MAIN_KEY, ${patient} }
  hasty:  { name: Hasty, adapter: openai, base_url: ${url}/v1, api_key_env: MAIN_KEY, ${patient},
            timeouts: { idle_ms: 500 } }
  backup: { name: Backup, adapter: openai, base_url: ${url}/v1, api_key_env: MAIN_KEY, ${patient} }
  gone:   { name: Gone, adapter: openai, base_url: http://127.0.0.1:9/v1, api_key_env: MAIN_KEY, ${patient} }
  locked: { name: Locked, adapter: openai, base_url: ${url}/v1, api_key_env: BAD_KEY, ${patient} }
  absent: { name: Absent, adapter: openai, base_url: ${url}/v1, api_key_env: NO_KEY }
${more.providers}
models:
${more.models}
  full:     { workload: chat, max_output_tokens: 1000, capabilities: ${everything}, pricing: { billing_type: token, input: "1", output: "2" }, providers: [main] }
  plain:    { workload: chat, capabilities: [text_input, text_output], pricing: { billing_type: token, input: "1", output: "2" }, providers: [main] }
  tiered:   { workload: chat, capabilities: ${everything}, providers: [main], pricing: { billing_type: token, input_token_tiers: [
              { max_input_tokens: 100, input: "1", output: "2" }, { max_input_tokens: 1000, input: "3", output: "4.000001" } ] } }
  fallback: { workload: chat, capabilities: ${everything}, pricing: { billing_type: token, input: "1", output: "2" }, providers: [gone, backup] }
  twofold:  { workload: chat, capabilities: ${everything}, pricing: { billing_type: token, input: "1", output: "2" }, providers: [main, backup] }
  unmapped: { workload: chat, owned_by: nobody, pricing: { billing_type: token, input: "1", output: "2" } }
  hasty:    { workload: chat, pricing: { billing_type: token, input: "1", output: "2" }, providers: [hasty] }
  renamed:  { workload: chat, capabilities: ${everything}, pricing: { billing_type: token, input: "1", output: "2" }, providers: [{ provider: main, upstream_model: vendor/renamed }] }
  limited:  { workload: chat, pricing: { billing_type: token, input: "1", output: "2" }, providers: [{ provider: main, upstream_model: limited }] }
  gone:     { workload: chat, capabilities: ${everything}, pricing: { billing_type: token, input: "1", output: "2" }, providers: [gone] }
  locked:   { workload: chat, capabilities: ${everything}, pricing: { billing_type: token, input: "1", output: "2" }, providers: [locked] }
  absent:   { workload: chat, capabilities: ${everything}, pricing: { billing_type: token, input: "1", output: "2" }, providers: [absent] }
  disabled: { workload: chat, enabled: false, pricing: { billing_type: token, input: "1", output: "2" }, providers: [main] }
  unpriced: { workload: chat, providers: [main] }
  picture:  { workload: image, sizes: ["1024x1024"], pricing: { billing_type: image, unit_price: "0.04" }, providers: [main] }
`;

export type ChatFixture = Readonly<{
  sandbox: Sandbox;
  database: TestDatabase;
  gateway: Gateway;
  environment: Readonly<Record<string, string>>;
  /** Strings that must appear neither in the gateway's log nor in its database at the end. Tests may add their own. */
  canaries: Set<string>;
  /** A new account with this balance in USD and a key for it. */
  customer: (
    credit: string,
    ...keyOptions: string[]
  ) => Promise<{ account: string; key: string; keyId: string }>;
  close: () => Promise<void>;
}>;

/** What no client, log line or table may ever contain, in any suite. */
const secrets = ['provider-key-canary', 'sandbox-private', 'sandbox-organization', 'req_sandbox_'];

/** `catalogOf` makes the catalogue from the address of the sandbox; `start` starts the gateway. */
export async function openChatFixture(
  catalogOf: (sandboxUrl: string) => string = chatCatalog,
  start: (environment: Environment) => Promise<Gateway> = startGateway,
): Promise<ChatFixture> {
  const sandbox = startSandbox({ keepEntries: 10_000 });
  const canaries = new Set(secrets);
  const database = await createDatabase();
  const environment = {
    DATABASE_URL: database.url,
    TOLLGATE_DATA: temporaryFolder(),
    TOLLGATE_CATALOG: writeCatalog(catalogOf(sandbox.url)),
    MAIN_KEY: 'provider-key-canary',
    BAD_KEY: 'invalid-provider-key-canary',
  };
  const gateway = await start(environment);
  return {
    sandbox,
    database,
    gateway,
    environment,
    canaries,
    customer: async (credit, ...keyOptions) => {
      const account = await runCommand<{ id: string }>(
        ['account', 'create', '--name', 'Test', '--credit', credit],
        environment,
      );
      const key = await runCommand<{ id: string; key: string }>(
        ['key', 'create', '--account', account.id, ...keyOptions],
        environment,
      );
      return { account: account.id, key: key.key, keyId: key.id };
    },
    close: async () => {
      const audit = await runCommand<{ holds: boolean }>(['ledger', 'audit', '--full'], environment);
      await gateway.stop();
      const kept = { 'the log': gateway.output(), 'the database': await dumpOf(database) };
      await database.close();
      await sandbox.stop();
      if (!audit.holds)
        throw new Error(`The ledger is broken after these tests:\n${JSON.stringify(audit, null, 2)}`);
      for (const canary of canaries) {
        for (const [place, text] of Object.entries(kept)) {
          // Bytes are dumped as hexadecimal digits.
          const hex = text.indexOf(Buffer.from(canary).toString('hex'));
          const at = Math.max(text.indexOf(canary), hex);
          if (at >= 0)
            throw new Error(`${place} holds ${canary}: …${text.slice(Math.max(0, at - 300), at + 100)}…`);
        }
      }
    },
  };
}

/** Every row of every table, as text. */
export async function dumpOf({ sql }: TestDatabase): Promise<string> {
  const tables = await sql`select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema')`;
  const dumps = tables.map(({ name }: { name: string }) =>
    sql.unsafe(`select row::text from ${name} as row`).values(),
  );
  return JSON.stringify(await Promise.all(dumps));
}

export type ErrorBody = { error: { message: string; type: string; param?: string; code: string } };
export type Chunk = {
  id: string;
  object: string;
  model: string;
  choices: {
    index: number;
    delta: { role?: string; content?: string | null; tool_calls?: ToolDelta[] };
    finish_reason: string | null;
  }[];
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
};
export type ToolDelta = {
  index: number;
  id?: string;
  type?: string;
  function: { name?: string; arguments: string };
};

/** The data of each event of a finished stream, without comments. */
export function eventsOf(text: string): string[] {
  return text
    .split('\n\n')
    .filter((event) => event !== '' && !event.startsWith(':'))
    .map((event) => event.replace(/^data: /, ''));
}

export type GenerationBody = {
  id: string;
  status: string;
  usage: {
    input_tokens: number;
    output_tokens: number;
    total_tokens: number;
    units: string;
    unit: string;
    cache_read_tokens?: number;
    cache_write_tokens?: number;
  } | null;
  cost: { input: string; output: string; total: string; currency: string } | null;
  provider: string;
  fallback: boolean;
  streaming: boolean;
  latency_ms: number;
  time_to_first_token_ms: number | null;
  tokens_per_second: number | null;
  routing: { selected_provider: string; fallback: boolean; attempt_count: number } | null;
  attempts: {
    index: number;
    provider: string;
    status: string;
    upstream_status: number | null;
    error: string | null;
    started_at: string;
    completed_at: string | null;
    latency_ms: number | null;
  }[];
  error: { type: string; code: string; message: string } | null;
};

/** Looks a Generation up until it has ended, as a customer would. */
export async function finishedGeneration(
  origin: string,
  key: string,
  requestId: string,
): Promise<GenerationBody> {
  return await eventually(`the end of ${requestId}`, async () => {
    const response = await fetch(`${origin}/v1/generations/${requestId}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    if (response.status !== 200) throw new Error(`The lookup answered ${response.status}.`);
    const generation = (await response.json()) as GenerationBody;
    return generation.status === 'in_progress' ? null : generation;
  });
}
