/** Bodies: valid ones, and mutations of them, all from reproducible random choices. */
import type { Random } from '../random.ts';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

const call = { id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{"city":"Kyiv"}' } };

/** A valid chat request with some of everything. */
export function chatBody(random: Random, model: string, content: string): { [name: string]: Json } {
  const body: { [name: string]: Json } = { model, messages: [{ role: 'user', content }] };
  if (random.happens(0.5)) body.stream = random.happens(0.5);
  if (random.happens(0.5)) body.max_tokens = random.between(1, 50);
  if (random.happens(0.2)) body.temperature = random.next() * 2;
  if (random.happens(0.1)) body.stop = ['END', 'STOP'];
  if (random.happens(0.1))
    body.messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Where?' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: 'Rain.' },
      { role: 'user', content },
    ];
  if (random.happens(0.1))
    body.tools = [
      { type: 'function', function: { name: 'look_up', parameters: { type: 'object', properties: {} } } },
    ];
  if (random.happens(0.05)) body.response_format = { type: 'json_object' };
  return body;
}

export function imageBody(random: Random, model: string, prompt: string): { [name: string]: Json } {
  return { model, prompt, size: '512x512', ...(random.happens(0.5) ? { n: random.between(1, 4) } : {}) };
}

const oddValues: readonly [Json, ...Json[]] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  2 ** 53,
  1e308,
  '',
  ' ',
  '\u0000',
  '\ud800',
  '__proto__',
  'constructor',
  '\u202e\u0000\uffff',
  '🏳️‍🌈'.repeat(20),
  'x'.repeat(1_000),
  [],
  [[]],
  [null],
  {},
  { a: { a: { a: {} } } },
  ['text', 1, null, {}],
];
const oddNames = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'then',
  '',
  '\u0000',
  'Model',
  'max_tokens ',
  'n',
  'logprobs',
  'user',
  'seed',
  'x'.repeat(2_000),
] as const;

const oddValue = (random: Random): Json => structuredClone(random.pick(oddValues));

/** Somewhere in the body a value is replaced, missing or added. */
export function mutateTree(body: { [name: string]: Json }, random: Random): Json {
  const copy = structuredClone(body);
  const holders = containersOf(copy);
  const holder = holders[random.between(0, holders.length - 1)] ?? copy;
  if (Array.isArray(holder)) {
    const place = random.between(0, Math.max(0, holder.length - 1));
    if (random.happens(0.3)) holder.splice(place, 1);
    else if (random.happens(0.5)) holder[place] = oddValue(random);
    else
      holder.push(...Array.from({ length: random.pick([1, 1, 1, 50, 50, 2_000]) }, () => oddValue(random)));
    return copy;
  }
  const names = Object.keys(holder);
  const name = names[random.between(0, Math.max(0, names.length - 1))] ?? 'model';
  if (random.happens(0.3)) delete holder[name];
  else if (random.happens(0.6)) holder[name] = oddValue(random);
  else
    Object.defineProperty(holder, random.pick(oddNames), {
      value: oddValue(random),
      enumerable: true,
      configurable: true,
    });
  return copy;
}

type Container = Json[] | { [name: string]: Json };

function containersOf(value: Json): Container[] {
  if (typeof value !== 'object' || value === null) return [];
  return [value, ...Object.values(value).flatMap(containersOf)];
}

type TextMutation = Readonly<{ name: string; of: (text: string, random: Random) => Buffer | string }>;

const insert = (text: string, at: number, what: string) => text.slice(0, at) + what + text.slice(at);
const somewhere = (text: string, random: Random) => random.between(0, text.length);

/** The text of the body is broken, or means more than it seems to. */
export const textMutations: readonly [TextMutation, ...TextMutation[]] = [
  { name: 'cut off', of: (text, random) => text.slice(0, somewhere(text, random)) },
  {
    name: 'with something after it',
    of: (text, random) => text + random.pick(['}', 'x', '{}', '\u0000', ',', '//']),
  },
  {
    name: 'with a byte changed',
    of: (text, random) => {
      const bytes = Buffer.from(text);
      bytes[random.between(0, bytes.length - 1)] = random.between(0, 255);
      return bytes;
    },
  },
  {
    name: 'with something inserted',
    of: (text, random) =>
      insert(
        text,
        somewhere(text, random),
        random.pick(['\u0000', '"', '\\', '[', '{', ',', ':', '\ud800', '\u2028', '/**/', '\\u12', '\n']),
      ),
  },
  { name: 'with a key twice', of: (text) => `{"model":"a",${text.slice(1)}` },
  { name: 'with a key twice, spelled differently', of: (text) => `{"m\\u006fdel":"a",${text.slice(1)}` },
  { name: 'with __proto__', of: (text) => `{"__proto__":{"model":"x","isAdmin":true},${text.slice(1)}` },
  { name: 'with a lone surrogate', of: (text) => `{"user":"\\ud800",${text.slice(1)}` },
  { name: 'with NUL', of: (text) => text.replace('"user"', '"user\\u0000"') },
  {
    name: 'with a huge number',
    of: (text, random) =>
      `{"max_tokens":${random.pick(['1e999', '-1e999', '9'.repeat(400), '1e-999', '-0', '0x10', '01', '1.', '+1', 'NaN', 'Infinity'])},${text.slice(1)}`,
  },
  {
    name: 'with bytes that are not UTF-8',
    of: (text, random) =>
      Buffer.concat([
        Buffer.from(text.slice(0, -1)),
        Buffer.from(
          random.pick([[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xe2, 0x82]]),
        ),
        Buffer.from('}'),
      ]),
  },
  { name: 'in UTF-16', of: (text) => Buffer.from(text, 'utf16le') },
  { name: 'after a byte order mark', of: (text) => `\ufeff${text}` },
  { name: 'in single quotes', of: (text) => text.replaceAll('"', "'") },
  {
    name: 'nothing',
    of: (_, random) => random.pick(['', ' ', '\n\n', '\u0000', 'null', '1', '"x"', '[]', '{}', 'true']),
  },
  {
    name: 'deep',
    of: (text, random) => {
      const depth = random.pick([30, 65, 130, 130, 1_000, 1_000, 20_000]);
      const [open, close] = random.pick<[string, string]>([
        ['[', ']'],
        ['{"a":', '}'],
      ]);
      const middle = open === '[' ? '' : '1';
      const isClosed = random.happens(0.5);
      return `{"user":${open.repeat(depth)}${middle}${isClosed ? `${close.repeat(depth)},${text.slice(1)}` : ''}`;
    },
  },
  {
    name: 'of many values',
    of: (text, random) =>
      `{"stop":[${'1,'.repeat(random.pick([10, 100, 100, 100, 1_000, 1_000, 5_000, 50_000]))}1],${text.slice(1)}`,
  },
  {
    name: 'of many keys',
    of: (text, random) => {
      const count = random.pick([10, 100, 100, 100, 1_000, 1_000, 10_000]);
      return `{${Array.from({ length: count }, (_, index) => `"k${index}":0,`).join('')}${text.slice(1)}`;
    },
  },
  {
    name: 'of escapes',
    of: (text, random) => `{"user":"${'\\u0041'.repeat(random.pick([10, 100, 5_000]))}",${text.slice(1)}`,
  },
];

/** Rare, because each is as much work for the sender as for the gateway. */
export const heavyBodies: readonly [TextMutation, ...TextMutation[]] = [
  { name: '20 MB of [', of: () => '['.repeat(20_000_000) },
  { name: '4 MB of {"a":', of: () => '{"a":'.repeat(800_000) },
  { name: '20 MB of numbers', of: () => `{"stop":[${'1,'.repeat(9_000_000)}1]}` },
  { name: '20 MB of quotes', of: () => `{"user":"${'\\"'.repeat(9_000_000)}"}` },
  { name: '20 MB of text', of: (text) => `{"user":"${'x'.repeat(20_000_000)}",${text.slice(1)}` },
  { name: '21 MB', of: () => ' '.repeat(22_100_000) },
];
