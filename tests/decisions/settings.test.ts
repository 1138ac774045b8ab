/** Who decides, by what is set in the environment and what the catalogue has. */
import { describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { readConfig } from '../../src/config.ts';
import { openDecisions } from '../../src/decisions/open.ts';
import type { LogFields } from '../../src/lib/log.ts';
import { parseCatalog, priceListOf } from '../../src/models/catalog.ts';
import { StoredPriceList } from '../../src/pricing/price-list-store.ts';
import { Calls } from '../../src/providers/call.ts';
import { candidatesByModel } from '../../src/routing/candidates.ts';
import { connectProviders } from '../../src/routing/connections.ts';
import { Gates } from '../../src/routing/gates.ts';
import { temporaryFolder } from '../support/gateway.ts';

/** Nothing is asked of anybody here, so it never connects. */
const sql = new SQL('postgres://127.0.0.1:9/nowhere', { max: 1 });

const pricing = 'pricing: { billing_type: token, input: "1", output: "2" }';
const structured = 'capabilities: [text_input, text_output, structured_output]';
const text = `
price_version: "1"
providers:
  sandbox: { name: Toy, adapter: sandbox }
  open:    { name: Open, adapter: openai, base_url: "http://127.0.0.1:9/v1" }
  keyed:   { name: Keyed, adapter: openai, base_url: "http://127.0.0.1:9/v1", api_key_env: NO_KEY }
  plain:   { name: Plain, adapter: openai, base_url: "http://127.0.0.1:9/v1", unsupported_parameters: [response_format] }
models:
  good:     { workload: chat, ${structured}, ${pricing}, providers: [open] }
  free:     { workload: chat, ${structured}, providers: [open] }
  disabled: { workload: chat, enabled: false, ${structured}, ${pricing}, providers: [open] }
  loose:    { workload: chat, capabilities: [text_input, text_output], ${pricing}, providers: [open] }
  stubborn: { workload: chat, ${structured}, unsupported_parameters: [response_format], ${pricing}, providers: [open] }
  unkeyed:  { workload: chat, ${structured}, ${pricing}, providers: [keyed] }
  carried:  { workload: chat, ${structured}, ${pricing}, providers: [plain] }
  picture:  { workload: image, sizes: ["1024x1024"], pricing: { billing_type: image, unit_price: "1" }, providers: [open] }
`;

function activate(source = text) {
  const result = parseCatalog(source, 'catalog.yaml');
  if (!result.ok) throw new Error(result.problems.join('\n'));
  const { catalog } = result;
  const connections = connectProviders(
    catalog,
    { secret: () => null, isProxied: true, calls: new Calls() },
    'http://127.0.0.1:1/v1',
  );
  const candidates = candidatesByModel(catalog, connections, new Gates());
  return { catalog, connections, candidates, priceList: new StoredPriceList(sql, priceListOf(catalog)) };
}

function open(
  environment: Record<string, string>,
  { isDemo = false, catalog = () => active }: { isDemo?: boolean; catalog?: typeof activate } = {},
) {
  const { decisions: settings, secret } = readConfig(environment);
  const problems: string[] = [];
  const log = {
    debug: () => undefined,
    info: () => undefined,
    warn: (_: string, fields: LogFields = {}) => problems.push(...(fields.problems ?? [])),
    error: () => undefined,
  };
  const decider = openDecisions({ settings, secret, isDemo, catalog, sql, log });
  return { decider, model: decider()?.model ?? null, problems };
}

const active = activate();
const provider = {
  DECISIONS_BASE_URL: 'https://decisions.example.com/v1/',
  DECISIONS_API_KEY: 'k',
  DECISIONS_MODEL: 'judge-latest',
};

describe('a decision provider', () => {
  test('needs three variables', () => {
    expect(open(provider)).toMatchObject({ model: 'judge-latest', problems: [] });
    // It may be another Tollgate gateway.
    expect(open({ ...provider, DECISIONS_API_KEY: 'svc_sk_x' })).toMatchObject({ model: 'judge-latest' });
  });

  test('does not get a placeholder for a key', () => {
    expect(open({ ...provider, DECISIONS_API_KEY: 'sk-…' })).toMatchObject({
      model: null,
      problems: [expect.stringContaining('it looks like a placeholder')],
    });
  });

  test.each(Object.keys(provider))(
    'without %s nobody decides, not even in a demo, and the operator is told',
    (name) => {
      expect(open({ ...provider, [name]: '' }, { isDemo: true })).toMatchObject({
        model: null,
        problems: [`${name} is not set.`],
      });
    },
  );

  test.each([
    ['decisions.example.com', 'no address'],
    ['ftp://decisions.example.com', 'another protocol'],
    ['https://user:pass-canary@decisions.example.com', 'credentials'],
    ['https://decisions.example.com/v1?key=key-canary', 'a query'],
    ['https://decisions.example.com/v1#x', 'a fragment'],
  ])('is not named by %s, which has %s', (url) => {
    expect(() => readConfig({ ...provider, DECISIONS_BASE_URL: url })).toThrow(/^DECISIONS_BASE_URL must be/);
    expect(() => readConfig({ ...provider, DECISIONS_BASE_URL: url })).not.toThrow(/canary/);
  });

  test('is called without a trailing slash, and has a neutral name', () => {
    expect(readConfig(provider).decisions).toEqual({
      baseUrl: 'https://decisions.example.com/v1',
      model: 'judge-latest',
      providerName: 'Decision provider',
      chatModel: null,
    });
    expect(readConfig({ DECISIONS_PROVIDER_NAME: 'Acme' }).decisions.providerName).toBe('Acme');
  });
});

test('a key in a file is read again with the catalogue, and one that cannot be read changes nothing', () => {
  const file = join(temporaryFolder(), 'key');
  const { DECISIONS_API_KEY: _, ...rest } = provider;
  let current = active;
  const environment = { ...rest, DECISIONS_API_KEY_FILE: file };
  expect(() => open(environment, { catalog: () => current })).toThrow('DECISIONS_API_KEY_FILE');
  writeFileSync(file, 'first');
  const { decider } = open(environment, { catalog: () => current });
  const first = decider();
  expect(first?.model).toBe('judge-latest');
  rmSync(file);
  current = activate();
  expect(decider()).toBe(first);
  writeFileSync(file, 'second');
  current = activate();
  expect(decider()).not.toBe(first);
});

describe('with nothing set', () => {
  test('nobody decides', () => {
    expect(open({})).toMatchObject({ model: null, problems: [] });
  });

  test('a demo has its sandbox decide, if its catalogue has one', () => {
    expect(open({}, { isDemo: true }).model).toBe('sandbox-decision-latest');
    const without = activate(text.replace(/^ {2}sandbox:.*\n/m, ''));
    expect(open({}, { isDemo: true, catalog: () => without })).toMatchObject({ model: null, problems: [] });
  });
});

describe('a chat model', () => {
  test.each(['good', 'free'])('%s decides under its own name', (id) => {
    expect(open({ DECISIONS_CHAT_MODEL: id })).toMatchObject({ model: id, problems: [] });
  });

  test.each([
    ['absent', 'which is not in the catalogue'],
    ['__proto__', 'which is not in the catalogue'],
    ['disabled', 'which is not an enabled chat model'],
    ['picture', 'which is not an enabled chat model'],
    ['loose', 'which has no structured_output'],
    ['stubborn', 'which has no structured_output'],
    ['unkeyed', 'none of whose providers is configured for structured output'],
    ['carried', 'none of whose providers is configured for structured output'],
  ])('%s cannot: %s', (id, why) => {
    expect(open({ DECISIONS_CHAT_MODEL: id }, { isDemo: true })).toMatchObject({
      model: null,
      problems: [`DECISIONS_CHAT_MODEL names "${id}", ${why}.`],
    });
  });

  test.each([...Object.keys(provider), 'DECISIONS_API_KEY_FILE'])('is not set together with %s', (name) => {
    const other = name.replace('_FILE', '');
    expect(() => readConfig({ DECISIONS_CHAT_MODEL: 'good', [name]: 'https://x.example.com' })).toThrow(
      `DECISIONS_CHAT_MODEL and ${other} are both set`,
    );
  });

  test('comes and goes with the catalogue', () => {
    let current = active;
    const { decider, problems } = open({ DECISIONS_CHAT_MODEL: 'good' }, { catalog: () => current });
    const first = decider();
    expect(decider()).toBe(first);
    current = activate(text.replace('good:    ', 'better:  '));
    expect(decider()).toBeNull();
    expect(decider()).toBeNull();
    expect(problems).toEqual(['DECISIONS_CHAT_MODEL names "good", which is not in the catalogue.']);
    current = activate();
    expect(decider()?.model).toBe('good');
  });
});
