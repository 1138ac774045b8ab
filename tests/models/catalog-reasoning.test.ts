/** What the catalogue says about the reasoning of models. */
import { expect, test } from 'bun:test';
import { parseCatalog } from '../../src/models/catalog.ts';

const head = `price_version: "2026-11"
providers:
  p: { adapter: openai, base_url: https://a.example }
models:
`;

function modelWith(fields: string) {
  const result = parseCatalog(`${head}  m: { ${fields} }\n`, 'catalog.yaml');
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return result.catalog.models.get('m');
}

const problemsOf = (fields: string) => {
  const result = parseCatalog(`${head}  m: { ${fields} }\n`, 'catalog.yaml');
  return result.ok ? [] : result.problems.map((problem) => problem.replace('catalog.yaml:5: models.m.', ''));
};

test('a model without it can be told nothing', () => {
  expect(modelWith('workload: chat')).toMatchObject({ reasoning: null, takesVerbosity: false });
});

test('efforts have their order, and all go with tools unless it says otherwise', () => {
  expect(
    modelWith('workload: chat, reasoning: { efforts: [high, none, low] }, verbosity: true'),
  ).toMatchObject({
    reasoning: {
      efforts: ['none', 'low', 'high'],
      effortsWithTools: ['none', 'low', 'high'],
      control: 'effort',
    },
    takesVerbosity: true,
  });
  expect(
    modelWith('workload: chat, reasoning: { efforts: [low], efforts_with_tools: [], control: budget }')
      ?.reasoning,
  ).toEqual({ efforts: ['low'], effortsWithTools: [], control: 'budget' });
});

test.each([
  [
    'reasoning: high',
    'reasoning: expected a mapping with the fields efforts, efforts_with_tools, control, got "high"',
  ],
  ['reasoning: {}', 'reasoning.efforts: missing, expected a list of efforts'],
  ['reasoning: { efforts: [] }', 'reasoning.efforts: expected at least one effort, got an empty list'],
  [
    'reasoning: { efforts: [low, much] }',
    'reasoning.efforts[1]: expected one of none, minimal, low, medium, high, xhigh, max, got "much"',
  ],
  ['reasoning: { efforts: [low, high, low] }', 'reasoning.efforts[2]: low is listed twice'],
  [
    'reasoning: { efforts: [low], control: tokens }',
    'reasoning.control: expected one of effort, budget, got "tokens"',
  ],
  [
    'reasoning: { efforts: [low], summary: auto }',
    'reasoning.summary: unknown field, expected one of efforts, efforts_with_tools, control',
  ],
  [
    'reasoning: { efforts: [low], efforts_with_tools: [none] }',
    'reasoning.efforts_with_tools: expected some of the efforts low, got "none"',
  ],
  ['verbosity: low', 'verbosity: expected true or false, got "low"'],
])('%s is a fault', (fields, problem) => {
  expect(problemsOf(`workload: chat, ${fields}`)).toEqual([problem]);
});

test('only a chat model has it', () => {
  expect(problemsOf('workload: video, reasoning: { efforts: [low] }, verbosity: true')).toEqual([
    'reasoning: only a chat model reasons, and the workload here is video',
    'verbosity: only a chat model can be told how much to write, and the workload here is video',
  ]);
});
