/** What an operator may allow beyond the contract: each name changes what it names, and nothing else. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type ChatExtension, parseExtendedChat } from '../../src/chat/completions/extensions.ts';
import { parseChat } from '../../src/chat/completions/parse.ts';
import { readConfig } from '../../src/config.ts';
import { ApiError } from '../../src/errors.ts';
import {
  asking,
  basic,
  type Fields,
  look,
  plus,
  refusalOf,
  talk,
  tools,
  user,
  without,
} from '../support/chat-bodies.ts';

const names = [
  'max_completion_tokens',
  'reasoning_effort',
  'user',
  'tool_choice_required',
  'developer',
] as const;
const all: ReadonlySet<ChatExtension> = new Set(names);
const only = (...some: ChatExtension[]): ReadonlySet<ChatExtension> => new Set(some);
const parse = (body: unknown, extensions = all) => parseExtendedChat(body, extensions);
const refused = (body: unknown, extensions = all) => {
  const { code, param, message } = refusalOf(() => parse(body, extensions));
  return { code: code as string, param, message };
};

const developer = { role: 'developer', content: 'Be brief.' };

/** A body that asks for each of them. */
const asks: Readonly<Record<ChatExtension, Fields>> = {
  max_completion_tokens: plus({ max_completion_tokens: 5 }),
  reasoning_effort: plus({ reasoning_effort: 'low' }),
  user: plus({ user: 'ada' }),
  tool_choice_required: { ...tools(look), tool_choice: 'required' },
  developer: talk(developer, user),
};

/** What the contract itself says to a body. */
function outcomeOf(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return [error.code, error.param, error.message, error.docs];
  }
}

describe('each name', () => {
  test.each(names)('%s is refused without it, with every other one, and served with it', (name) => {
    const body = asks[name];
    const others = only(...names.filter((other) => other !== name));
    const contract = outcomeOf(() => parseChat(body));
    expect(contract).toBeArray();
    expect(outcomeOf(() => parse(body, only()))).toEqual(contract);
    expect(outcomeOf(() => parse(body, others))).toEqual(contract);
    expect(parse(body, only(name)).model).toBe('m');
  });

  test('max_completion_tokens is max_tokens', () => {
    expect(parse(plus({ max_completion_tokens: 5 })).call.maxTokens).toBe(5);
    expect(parse(plus({ max_completion_tokens: 5, max_tokens: null })).call.maxTokens).toBe(5);
    expect(parse(plus({ max_tokens: 6, max_completion_tokens: null })).call.maxTokens).toBe(6);
    expect(parse(plus({ max_completion_tokens: null })).call.maxTokens).toBeNull();
    expect(refused(plus({ max_completion_tokens: 5, max_tokens: 5 }))).toMatchObject({
      code: 'invalid_parameter',
      param: 'max_completion_tokens',
    });
    const refusal = refused(plus({ max_completion_tokens: 0 }));
    expect(refusal).toMatchObject({ code: 'invalid_parameter', param: 'max_completion_tokens' });
    expect(refusal.message).not.toContain(' max_tokens');
    expect(refused(plus({ max_tokens: 0 }))).toMatchObject({ param: 'max_tokens' });
  });

  test('reasoning_effort is demanded', () => {
    expect(parse(plus({ reasoning_effort: 'xhigh' })).call).toMatchObject({
      effort: 'xhigh',
      demandsEffort: true,
    });
    expect(parse(plus({ reasoning_effort: null })).call).toMatchObject({
      effort: null,
      demandsEffort: false,
    });
    for (const value of ['much', '', 3, ['low'], { effort: 'low' }])
      expect(refused(plus({ reasoning_effort: value }))).toMatchObject({
        code: 'invalid_parameter',
        param: 'reasoning_effort',
      });
  });

  test('user is whom it is for', () => {
    expect(parse(plus({ user: 'ada' })).attribution).toEqual({ endUser: 'ada', session: null, tags: [] });
    expect(parse(plus({ user: null })).attribution).toBeNull();
    for (const value of ['', 'x'.repeat(257), 7, ['ada']])
      expect(refused(plus({ user: value }))).toMatchObject({ code: 'invalid_parameter', param: 'user' });
  });

  test('a tool can be required, if there is one', () => {
    expect(parse({ ...tools(look), tool_choice: 'required' }).call.toolChoice).toBe('required');
    for (const body of [plus({ tool_choice: 'required' }), { ...tools(), tool_choice: 'required' }])
      expect(refused(body)).toMatchObject({ code: 'invalid_parameter', param: 'tool_choice' });
    expect(refused({ ...tools(look), tool_choice: 'any' })).toMatchObject({ param: 'tool_choice' });
  });

  test('developers write system messages', () => {
    const [first, second] = parse(talk(developer, user)).call.messages;
    expect(first).toEqual({ role: 'system', content: 'Be brief.' });
    expect(second).toEqual({ role: 'user', content: 'Hello' });
    expect(refused(talk(user, { role: 'developer' }))).toMatchObject({ param: 'messages[1].content' });
    expect(refused(talk({ ...developer, name: 'x' }))).toMatchObject({ param: 'messages[0].name' });
    expect(refused({ model: 'm', messages: 'developer' })).toMatchObject({ param: 'messages' });
  });
});

describe('nothing else changes', () => {
  const anyValue = fc.oneof(
    fc.constantFrom<unknown>(null, true, 0, 5, -1, 0.5, '', 'auto', 'required', [], {}, [look], [user], 'x'),
    fc.constantFrom<unknown>([developer], [asking], { type: 'text' }, { include_usage: true }),
  );
  const anyName = fc.constantFrom(
    ...['stream', 'temperature', 'max_tokens', 'stop', 'tools', 'tool_choice', 'seed', 'stream_options'],
    ...['n', 'logprobs', 'frequency_penalty', 'reasoning', 'top_logprobs', '__proto__', 'max_output_tokens'],
  );
  const anyBody = fc
    .array(fc.tuple(anyName, anyValue), { maxLength: 4 })
    .map((entries) => ({ ...basic, ...Object.fromEntries(entries) }) as Fields);

  test('for a body that asks for none of them', () => {
    fc.assert(
      fc.property(anyBody, (body) => {
        fc.pre(body.tool_choice !== 'required');
        const parsed = outcomeOf(() => parse(body));
        const contract = outcomeOf(() => parseChat(body));
        if (Array.isArray(contract)) expect(parsed).toEqual(contract);
        else expect(parsed).toMatchObject(contract as object);
      }),
      { numRuns: 1_000 },
    );
  });

  test('what is no body is none, whatever is allowed', () => {
    for (const body of [5, 'text', null, true, [], [basic], undefined, {}, without(basic, 'model')])
      expect(outcomeOf(() => parse(body))).toEqual(outcomeOf(() => parseChat(body)));
  });
});

describe('CHAT_EXTENSIONS', () => {
  test('is a list of names, and none by default', () => {
    expect(readConfig({}).chatExtensions).toEqual(new Set());
    expect(readConfig({ CHAT_EXTENSIONS: '' }).chatExtensions).toEqual(new Set());
    expect(readConfig({ CHAT_EXTENSIONS: ' user, developer,' }).chatExtensions).toEqual(
      only('user', 'developer'),
    );
    expect(readConfig({ CHAT_EXTENSIONS: names.join(',') }).chatExtensions).toEqual(all);
  });

  test.each(['n', 'logprobs', 'frequency_penalty', 'tool_choice', 'Developer', 'user;developer'])(
    '%s is none that could be served',
    (name) => {
      expect(() => readConfig({ CHAT_EXTENSIONS: `user,${name}` })).toThrow(
        `CHAT_EXTENSIONS must be one of ${names.join(', ')}, but is "${name}".`,
      );
    },
  );
});
