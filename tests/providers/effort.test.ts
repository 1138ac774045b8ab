/** How much a model is asked to think, in each format, and what is refused. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { anthropic } from '../../src/providers/anthropic.ts';
import type { ChatAdapter, ChatCall, ChatMessage } from '../../src/providers/chat.ts';
import {
  budgetOf,
  type Effort,
  efforts,
  nearestEffort,
  type ReasoningSupport,
} from '../../src/providers/effort.ts';
import { google } from '../../src/providers/google.ts';
import { openai } from '../../src/providers/openai.ts';
import { defaultDialect, type Upstream } from '../../src/providers/upstream.ts';
import { emptyCall } from '../support/provider.ts';

const upstream: Upstream = {
  baseUrl: 'https://api.example/v1',
  apiKey: null,
  model: 'm',
  maxOutputTokens: 32_000,
  dialect: defaultDialect,
  maker: 'p/m',
  requestId: 'req_1',
};
const user: ChatMessage = { role: 'user', content: 'Hello' };
const look = { name: 'look', description: null, parameters: null, strict: null };

const named = (...taken: Effort[]): ReasoningSupport => ({
  efforts: taken,
  effortsWithTools: taken,
  control: 'effort',
});
const budgeted = (...taken: Effort[]): ReasoningSupport => ({ ...named(...taken), control: 'budget' });

function bodyOf(adapter: ChatAdapter, call: Partial<ChatCall>, to: Partial<Upstream> = {}) {
  const whole = { ...emptyCall, messages: [user], ...call };
  return JSON.parse(adapter.chatRequest(whole, { ...upstream, ...to }, false).body);
}

describe('the nearest effort', () => {
  const anyEffort = fc.constantFrom(...efforts);
  const anyEfforts = fc.uniqueArray(anyEffort, { minLength: 1 });
  const place = (effort: Effort) => efforts.indexOf(effort);

  test('is one that the model takes, and no other is nearer', () => {
    fc.assert(
      fc.property(anyEffort, anyEfforts, (asked, taken) => {
        const nearest = nearestEffort(asked, taken);
        if (nearest === null || !taken.includes(nearest)) return false;
        if (taken.includes(asked)) return nearest === asked;
        const thinking = taken.filter((effort) => effort !== 'none');
        const distances = thinking.map((effort) => Math.abs(place(effort) - place(asked)));
        return thinking.length === 0 || Math.abs(place(nearest) - place(asked)) === Math.min(...distances);
      }),
    );
  });

  test('is never none for a client that wants the model to think, if it can', () => {
    fc.assert(
      fc.property(anyEffort, anyEfforts, (asked, taken) => {
        const canThink = taken.some((effort) => effort !== 'none');
        return asked === 'none' || !canThink || nearestEffort(asked, taken) !== 'none';
      }),
    );
  });

  test.each([
    ['medium', ['low', 'high'], 'low'],
    ['minimal', ['none', 'low'], 'low'],
    ['none', ['low', 'medium'], 'low'],
    ['max', ['none', 'low', 'xhigh'], 'xhigh'],
    ['low', ['none', 'high'], 'high'],
    ['high', ['none'], 'none'],
  ] as const)('of %s among %p is %s', (asked, taken, expected) => {
    expect(nearestEffort(asked, taken)).toBe(expected);
  });

  test('does not exist where there is none', () => {
    expect(nearestEffort('low', [])).toBeNull();
  });
});

test('a budget leaves half of the answer, and is never less than the vendors take', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...efforts.filter((effort) => effort !== 'none')),
      fc.integer({ min: 1, max: 200_000 }),
      (effort, max) => {
        const budget = budgetOf(effort, max);
        return budget === null ? max < 2_048 : budget >= 1_024 && budget <= max / 2;
      },
    ),
  );
  expect(budgetOf('medium', null)).toBe(8_192);
});

test('a call without an effort says nothing about it, whatever the model takes', () => {
  for (const adapter of [openai, anthropic, google])
    for (const reasoning of [null, named('low'), budgeted('low')])
      expect(bodyOf(adapter, {}, { reasoning, takesVerbosity: true })).toEqual(bodyOf(adapter, {}));
});

test('an effort is left out for a model that cannot be told', () => {
  for (const adapter of [openai, anthropic, google])
    expect(bodyOf(adapter, { effort: 'high', verbosity: 'low' })).toEqual(bodyOf(adapter, {}));
});

describe('OpenAI', () => {
  test('gets the effort and the verbosity by name', () => {
    const to = { reasoning: named('none', 'low', 'high'), takesVerbosity: true };
    expect(bodyOf(openai, { effort: 'max', verbosity: 'low' }, to)).toMatchObject({
      reasoning_effort: 'high',
      verbosity: 'low',
    });
    expect(bodyOf(openai, { effort: 'none' }, to).reasoning_effort).toBe('none');
  });

  test('gets none that the model does not take together with tools', () => {
    const reasoning: ReasoningSupport = { ...named('none', 'low', 'high'), effortsWithTools: ['none'] };
    const effortOf = (effort: Effort) => bodyOf(openai, { effort, tools: [look] }, { reasoning });
    expect(effortOf('high')).not.toHaveProperty('reasoning_effort');
    expect(effortOf('none')).toHaveProperty('reasoning_effort', 'none');
    const demanded = { ...emptyCall, messages: [user], tools: [look], demandsEffort: true };
    expect(openai.unsupported({ ...demanded, effort: 'high' }, defaultDialect, reasoning)).toEqual({
      param: 'reasoning_effort',
      message: 'With tools, this model takes no such reasoning_effort: use none, or leave it out.',
    });
    expect(openai.unsupported({ ...demanded, effort: 'none' }, defaultDialect, reasoning)).toBeNull();
    expect(
      openai.unsupported({ ...demanded, effort: 'high', tools: null }, defaultDialect, reasoning),
    ).toBeNull();
  });
});

describe('Anthropic', () => {
  type Told = { thinking?: unknown; output_config?: unknown };
  const of = (call: Partial<ChatCall>, reasoning: ReasoningSupport, to: Partial<Upstream> = {}): Told => {
    const { thinking, output_config } = bodyOf(anthropic, call, { reasoning, ...to });
    return { thinking, output_config };
  };
  const adaptive = named('none', 'low', 'high', 'max');

  test('gets the effort by name and decides itself how much to think', () => {
    expect(of({ effort: 'xhigh' }, adaptive)).toEqual({
      thinking: { type: 'adaptive' },
      output_config: { effort: 'high' },
    });
    expect(of({ effort: 'none' }, adaptive)).toEqual({ thinking: { type: 'disabled' } });
    expect(of({ effort: 'low' }, adaptive, { showsReasoning: true }).thinking).toEqual({
      type: 'adaptive',
      display: 'summarized',
    });
  });

  test('keeps the effort next to a response format, and where it must not think', () => {
    const schema = { type: 'object', additionalProperties: false };
    const responseFormat = {
      type: 'json_schema',
      name: 'x',
      description: null,
      schema,
      strict: null,
    } as const;
    expect(of({ effort: 'low', responseFormat }, adaptive).output_config).toEqual({
      effort: 'low',
      format: { type: 'json_schema', schema },
    });
    const tools = [look];
    for (const call of [
      { temperature: 0.5 },
      { topP: 0.5 },
      { tools, toolChoice: 'required' as const },
      { tools, toolChoice: { functionName: 'look' } },
    ])
      expect(of({ effort: 'low', ...call }, adaptive)).toEqual({ output_config: { effort: 'low' } });
    expect(of({ effort: 'low', temperature: 1, tools }, adaptive).thinking).toEqual({ type: 'adaptive' });
  });

  test('gets a number of tokens where the model needs one, unless the answer is too short', () => {
    const budget = budgeted('none', 'low', 'medium', 'high');
    expect(of({ effort: 'medium' }, budget)).toEqual({ thinking: { type: 'enabled', budget_tokens: 8_192 } });
    expect(of({ effort: 'high' }, budget).thinking).toEqual({ type: 'enabled', budget_tokens: 16_000 });
    expect(of({ effort: 'none' }, budget)).toEqual({ thinking: { type: 'disabled' } });
    expect(of({ effort: 'high' }, budget, { maxOutputTokens: 2_000 })).toEqual({});
    expect(of({ effort: 'high', temperature: 0 }, budget)).toEqual({});
  });

  test('thinks on within a turn only where it began to', () => {
    const turn = (...items: Extract<ChatMessage, { role: 'assistant' }>['items']): ChatMessage[] => [
      user,
      { role: 'assistant', items: [...items, { type: 'tool_call', id: 'c', name: 'look', arguments: '{}' }] },
      { role: 'tool', toolCallId: 'c', content: 'x', name: null, isError: false },
    ];
    const reasoning = (madeBy: string) =>
      ({ type: 'reasoning', text: 'Hm.', signature: { value: 's', madeBy } }) as const;
    const thinks = (messages: ChatMessage[]) =>
      of({ effort: 'low', tools: [look], messages }, budgeted('low')).thinking !== undefined;
    expect(thinks(turn(reasoning('p/m')))).toBe(true);
    expect(thinks(turn(reasoning('p/other')))).toBe(false);
    expect(thinks(turn())).toBe(false);
    expect(thinks([...turn(), { role: 'assistant', items: [{ type: 'text', text: 'Done.' }] }, user])).toBe(
      true,
    );
  });

  test('refuses an effort that it cannot honour only where it is demanded', () => {
    const refusal = (call: Partial<ChatCall>, support: ReasoningSupport) =>
      anthropic.unsupported(
        { ...emptyCall, messages: [user], effort: 'low', ...call },
        defaultDialect,
        support,
      );
    const demanded = { demandsEffort: true, temperature: 0.5 };
    expect(refusal(demanded, budgeted('none', 'low'))).toMatchObject({ param: 'reasoning_effort' });
    expect(refusal(demanded, named('low'))).toBeNull();
    expect(refusal({ ...demanded, effort: 'none' }, budgeted('none', 'low'))).toBeNull();
    expect(refusal({ temperature: 0.5 }, budgeted('low'))).toBeNull();
  });
});

describe('Google', () => {
  const of = (call: Partial<ChatCall>, to: Partial<Upstream>) =>
    bodyOf(google, call, to).generationConfig.thinkingConfig;

  test('gets a level, or a number of tokens', () => {
    expect(of({ effort: 'xhigh' }, { reasoning: named('low', 'high') })).toEqual({ thinkingLevel: 'high' });
    expect(of({ effort: 'medium' }, { reasoning: budgeted('none', 'medium') })).toEqual({
      thinkingBudget: 8_192,
    });
    expect(of({ effort: 'none' }, { reasoning: budgeted('none', 'low'), showsReasoning: true })).toEqual({
      thinkingBudget: 0,
    });
    expect(of({ effort: 'high' }, { reasoning: budgeted('high'), maxOutputTokens: 2_000 })).toBeUndefined();
  });

  test('shows thoughts when asked to, if the model has any', () => {
    expect(of({}, { reasoning: named('low'), showsReasoning: true })).toEqual({ includeThoughts: true });
    expect(of({ effort: 'low' }, { reasoning: named('low'), showsReasoning: true })).toEqual({
      thinkingLevel: 'low',
      includeThoughts: true,
    });
    expect(of({}, { showsReasoning: true })).toBeUndefined();
  });
});
