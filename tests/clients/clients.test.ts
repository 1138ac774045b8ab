/** What npm run test:clients decides and prints, and that the recipes in the documentation are the code that it runs. */
import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { agents } from './agents.ts';
import { readArguments } from './arguments.ts';
import { clients, notRun } from './clients.ts';
import { priceOf } from './formats.ts';
import { generators } from './generated.ts';
import { furtherChecks, generatedClients, matrix, merged, replaced } from './matrix.ts';
import { columns, confirmed, isExplained, type Outcome, readOutcomes } from './outcome.ts';
import { chargeFlaw, requestsFlaw, runFlaw } from './situation-runs.ts';
import { situations } from './situations.ts';

const folder = join(import.meta.dir, '.');
const guide = readFileSync(join(import.meta.dir, '../../docs/clients.md'), 'utf8');
const [, afterRecipes = ''] = guide.split('## Recipes\n');
const [recipes = ''] = afterRecipes.split('## Settings of clients that were not run\n');

const refused = (code: string, param = '', detail = ''): Outcome => ({
  check: 'tools',
  outcome: 'refused',
  code,
  param,
  detail,
});

describe('an outcome', () => {
  test('is explained when the contract rejects what the client sent, and in no other case', () => {
    for (const param of ['max_completion_tokens', 'tool_choice', 'messages[12].parsed'])
      expect([param, isExplained(refused('unsupported_parameter', param))]).toEqual([param, true]);
    for (const param of ['temperature', 'tools', 'messages[1].content', 'xn', ''])
      expect([param, isExplained(refused('unsupported_parameter', param))]).toEqual([param, false]);
    expect(isExplained(refused('not_found', '', 'POST /v1/responses does not exist'))).toBe(false);
    expect(isExplained(refused('invalid_parameter', 'tool_choice'))).toBe(false);
    expect(isExplained({ check: 'chat', outcome: 'failed' })).toBe(false);
    expect(isExplained({ check: 'chat', outcome: 'not offered' })).toBe(true);
  });

  test('that a script did not report is a failure', () => {
    const outcomes = readOutcomes('noise\n{"check":"chat","outcome":"works"}\n{"other":1}\n');
    expect(outcomes.filter(({ outcome }) => outcome === 'works').map(({ check }) => check)).toEqual(['chat']);
    expect(outcomes.filter(({ outcome }) => outcome === 'failed').map(({ check }) => check)).toEqual(
      columns.filter((column) => column !== 'chat'),
    );
  });
});

test('the tables show what failed, what was refused and why', () => {
  const outcomes = [
    refused('unsupported_parameter', 'tool_choice'),
    { check: 'chat', outcome: 'works' } as const,
    { check: 'stream', outcome: 'failed' } as const,
    { check: 'max=5', outcome: 'works' } as const,
  ];
  const results = [{ name: 'x', version: '1', outcomes }];
  expect(matrix(results, '2026-11-01')).toMatch(
    /\| x \| 1 \| works \| \*\*failed\*\* \| refused: `tool_choice` \| .* \| 2026-11-01 \|$/,
  );
  expect(furtherChecks(results)).toEndWith('| x | `max=5` | works |');
  expect(generatedClients([{ name: 'g', version: '2', result: 'compiles' }])).toEndWith(
    '| g | 2 | compiles |',
  );
  const text = 'a\n[//]: # (t)\nold\n[//]: # (end of t)\nb';
  expect(replaced(text, 't', (old) => `new${old}`)).toBe(
    'a\n[//]: # (t)\n\nnew\nold\n\n\n[//]: # (end of t)\nb',
  );
  expect(() => replaced('a', 't', () => 'new')).toThrow();
});

test('a run of some clients changes their rows only', () => {
  const some = readArguments(['LangChain', 'curl', '--write']);
  expect([some.isWritten, some.isWanted('LangChain (JS)'), some.isWanted('llm')]).toEqual([
    true,
    true,
    false,
  ]);
  expect(readArguments([]).isWanted('curl')).toBe(true);
  const old = '| client | x |\n|---|---|\n| a | 1 |\n| b | 1 |\n| b | 2 |\n| gone | 1 |';
  const fresh = '| client | y |\n|---|---|\n| c | 3 |\n| b | 3 |';
  expect(merged(old, fresh, ['a', 'b', 'c'])).toBe(
    '| client | y |\n|---|---|\n| a | 1 |\n| b | 3 |\n| c | 3 |',
  );
});

test('a charge is compared with the usage in the words of each format', () => {
  const usages = {
    '/v1/chat/completions': {
      prompt_tokens: 100,
      completion_tokens: 7,
      prompt_tokens_details: { cached_tokens: 60 },
    },
    '/v1/responses': { input_tokens: 100, output_tokens: 7, input_tokens_details: { cached_tokens: 60 } },
    '/v1/messages': {
      input_tokens: 30,
      output_tokens: 7,
      cache_read_input_tokens: 60,
      cache_creation_input_tokens: 10,
    },
    '/v1beta/models/x:generateContent': {
      promptTokenCount: 100,
      candidatesTokenCount: 4,
      thoughtsTokenCount: 3,
      cachedContentTokenCount: 60,
    },
  };
  for (const [path, usage] of Object.entries(usages))
    expect([path, priceOf(path, usage)]).toEqual([path, 60_000_000n]);
});

describe('a situation', () => {
  const situation = { model: '', credit: '1', written: 'one', printed: { x: /add credit/ } };
  const usage = { prompt_tokens: 100_000, completion_tokens: 7 };
  const entry = { path: '/v1/chat/completions', usage };

  test('has a flaw unless the agent ends by itself, says that it failed, and what to do', () => {
    const flaw = (output: string, exitCode: number | null) =>
      runFlaw({ name: 'x' }, situation, { output, exitCode });
    expect(flaw('Please add credit.', 1)).toBe(null);
    expect(flaw('Please add credit.', null)).toBe('it did not end by itself');
    expect(flaw('Please add credit.', 0)).toBe('it ended with 0');
    expect(flaw('Failed.', 1)).toBe('it printed something else');
  });

  test('has a flaw unless what was logged was charged, and the balance did not go below zero', () => {
    const flaw = (spent: string, available: string, credit = '1') =>
      chargeFlaw([entry, { ...entry, usage: null }], { ...situation, credit }, spent, available);
    expect(flaw('0.100014000000', '0.899986000000')).toBe(null);
    expect(flaw('0.200028000000', '0.799972000000')).toContain('was charged');
    expect(flaw('0.100014000000', '0.900000000000')).toContain('is left');
    expect(flaw('0.100014000000', '-0.000014000000', '0.1')).toContain('is left');
  });

  test('has a flaw unless each agent sent its own requests', () => {
    const requests = { x: /^a$/, y: /^a a$/ };
    expect(requestsFlaw({ name: 'x' }, { requests }, 'a')).toBe(null);
    expect(requestsFlaw({ name: 'y' }, { requests }, 'a')).toBe('its requests were: a');
    expect(requestsFlaw({ name: 'z' }, { requests }, 'a')).toBe('its requests were: a');
  });

  test('is in the documentation, with what every agent sends and prints', () => {
    for (const { name, requests, printed } of situations) {
      expect(guide).toMatch(new RegExp(`^\\| ${name} \\|`, 'm'));
      const programs = agents.filter(({ isVariant }) => !isVariant);
      for (const byAgent of [requests, printed])
        expect(Object.keys(byAgent)).toEqual(programs.map((agent) => agent.name));
    }
  });
});

test('reasoning counts as sent back only if a provider got it', () => {
  const outcome = { check: 'reasoning sent back', outcome: 'works' } as const;
  expect(confirmed([outcome], [{ input: [{ encrypted_content: 'x' }] }])).toEqual([outcome]);
  expect(confirmed([outcome], [{ input: 'x' }])).toMatchObject([{ outcome: 'failed' }]);
});

describe('docs/clients.md', () => {
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(py|mjs|go|java|rs|sh|json|toml)$/.test(name))
    .map((name) => readFileSync(join(folder, name), 'utf8'));

  test('has recipes that are part of a script', () => {
    const blocks = [...recipes.matchAll(/```\w+\n(.*?)```/gs)].map(([, block = '']) => block);
    expect(blocks.length).toBeGreaterThan(20);
    expect(blocks.filter((block) => !sources.some((text) => text.includes(block)))).toEqual([]);
  });

  test('has every client in its matrix, without a failure, or says that it was not run', () => {
    const [, table = '', rest = ''] = guide.split(/\[\/\/\]: # \((?:end of )?the matrix\)/);
    const [, missing = ''] = /^Not run: (.*?)\n\n/ms.exec(rest) ?? [];
    for (const { name, version } of clients) {
      const isShown = table.includes(`| ${name} | ${version ?? ''}`);
      expect([name, isShown !== missing.includes(`${name},`)]).toEqual([name, true]);
    }
    expect(guide).not.toContain('**failed**');
    for (const { name } of notRun) expect([name, missing.includes(name)]).toEqual([name, true]);
  });

  test('has the date and version of every agent, and the result of every generator', () => {
    for (const { name, version } of agents)
      expect(guide).toMatch(new RegExp(`^\\| ${name} \\| ${version} \\|.* \\d{4}-\\d{2}-\\d{2} \\|$`, 'm'));
    for (const { name, version } of generators) expect(guide).toContain(`| ${name} | ${version} | `);
  });
});
