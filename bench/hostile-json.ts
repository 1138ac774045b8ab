/**
 * The cost of deliberately expensive JSON, compared with ordinary JSON of the same size: `bun bench/hostile-json.ts`. A
 * body goes as far as it gets before admission: read, parse, validate, weigh, or the error response. An ordinary request
 * goes on to its hold, call and settlement, which a refused one never reaches, so from end to end the ratios are lower.
 * The time is that of the whole process, with its garbage collection.
 */
import { inputBound } from '../src/chat/bounds.ts';
import { parseChat } from '../src/chat/completions/parse.ts';
import { ApiError } from '../src/errors.ts';
import { errorResponse } from '../src/http/response.ts';
import { parseJsonBody } from '../src/json/body.ts';
import type { Model } from '../src/models/model.ts';
import { parseJson } from '../src/providers/wire.ts';
import { formatNumber, formatTable } from './table.ts';

const sizes = [8_000, 65_000, 500_000];

const prose = 'The quick brown fox said \\"hello\\" to the lazy dog.\\nThen it rained for a while. ';

/** As many repetitions as fit between the two ends. */
function filled(size: number, head: string, item: string, tail: string, separator = ''): string {
  const count = Math.floor((size - head.length - tail.length) / (item.length + separator.length));
  return head + Array(Math.max(1, count)).fill(item).join(separator) + tail;
}

function counted(size: number, head: string, item: (index: number) => string, tail: string): string {
  const items: string[] = [];
  for (let index = 0, length = head.length + tail.length; length < size; index++) {
    const next = item(index);
    items.push(next);
    length += next.length + 1;
  }
  return head + items.join(',') + tail;
}

/** No two of these objects share a key. */
function objectOf(keys: number, index: number): string {
  return `{${Array.from({ length: keys }, (_, place) => `"${(index * keys + place).toString(36)}":0`).join()}}`;
}

const message = `{"role":"user","content":"${prose.repeat(10)}"}`;
const talk = '{"model":"m","messages":[{"role":"user","content":"Hi"}]';
const inTool = (head: string, tail: string): [string, string] => [
  `${talk},"tools":[{"type":"function","function":{"name":"f","parameters":{"a":${head}`,
  `${tail}}}}]}`,
];
const schema =
  '{"type":"object","description":"Where to look for it","properties":{"city":{"type":"string"}}}';

/** Half tools, half conversation. All others are compared with it. */
function agentRequest(size: number): string {
  const tool = (index: number) =>
    `{"type":"function","function":{"name":"f${index}","description":"Looks for it","parameters":${schema}}}`;
  const tools = counted(size / 2, '"tools":[', tool, ']}');
  return filled(size, '{"model":"m","messages":[', message, `],${tools}`, ',');
}

const shapes: Readonly<Record<string, (size: number) => string>> = {
  "an agent's request": (size) => agentRequest(size),
  'a conversation': (size) => filled(size, '{"model":"m","messages":[', message, ']}', ','),
  'one long message': (size) =>
    filled(size, '{"model":"m","messages":[{"role":"user","content":"', prose, '"}]}'),
  tools: (size) => filled(size, inTool('[', '')[0], schema, inTool('', ']')[1], ','),
  '[[[[': (size) => '['.repeat(size),
  '{"a":{"a":': (size) => '{"a":'.repeat(size / 5),
  '[[],[],': (size) => filled(size, '{"a":[', '[]', ']}', ','),
  '[{},{},': (size) => filled(size, '{"a":[', '{}', ']}', ','),
  '[[[]],[[]],': (size) => filled(size, '{"a":[', '[[[[[[]]]]]]', ']}', ','),
  '[{"a":0},': (size) => filled(size, '{"a":[', '{"a":0}', ']}', ','),
  '0,0,0': (size) => filled(size, '{"a":[', '0', ']}', ','),
  '"","",': (size) => filled(size, '{"a":[', '""', ']}', ','),
  '"a","b",': (size) => counted(size, '{"a":[', (index) => `"${index.toString(36)}"`, ']}'),
  'the same key': (size) => filled(size, '{', '"a":0', '}', ','),
  'a key twice, at the end': (size) =>
    counted(size, '{"a":[', (index) => objectOf(60, index), ',{"b":0,"b":0}]}'),
  'many keys': (size) => counted(size, '{', (index) => `"${index.toString(36)}":0`, '}'),
  'many numeric keys': (size) => counted(size, '{', (index) => `"${index * 977}":0`, '}'),
  'objects of 1,000 keys': (size) => counted(size, '{"a":[', (index) => objectOf(1_000, index), ']}'),
  'an object of 1,064 keys': (size) =>
    filled(size, objectOf(1_063, 0).replace('}', ',"_":['), '0.5', ']}', ','),
  'objects of 60 keys': (size) => counted(size, '{"a":[', (index) => objectOf(60, index), ']}'),
  'objects of many forms': (size) =>
    counted(size, '{"a":[', (index) => `{"${index.toString(36)}":0,"${(index * 7).toString(36)}x":0}`, ']}'),
  backslashes: (size) => filled(size, '{"model":"m","messages":[{"role":"user","content":"', '\\\\', '"}]}'),
  'escaped quotes': (size) =>
    filled(size, '{"model":"m","messages":[{"role":"user","content":"', '\\"', '"}]}'),
  '\\u escapes': (size) =>
    filled(size, '{"model":"m","messages":[{"role":"user","content":"', '\\u00e9', '"}]}'),
  'strings of \\u escapes': (size) => filled(size, '{"a":[', '"\\u00e9"', ']}', ','),
  'a long integer': (size) => filled(size, '{"a":', '7', '}'),
  'a long fraction': (size) => filled(size, '{"a":0.', '7', '}'),
  'numbers of 300 digits': (size) => filled(size, '{"a":[', '7'.repeat(300), ']}', ','),
  'fractions of 20 digits': (size) => filled(size, '{"a":[', '0.12345678901234567890', ']}', ','),
  '1e99999': (size) => filled(size, '{"a":[', '1e99999', ']}', ','),
  '1e300': (size) => filled(size, '{"a":[', '1e300', ']}', ','),
  'white space': (size) => filled(size, '{"a":0', ' ', '}'),
  'not JSON': (size) => filled(size, '{"a":[', '0', ']}', ' '),
  'not JSON at the end': (size) => filled(size, '{"a":[', '0.5', ']]', ','),
  'not an object': (size) => filled(size, '[', '0', ']', ','),
  'a schema, 60 levels': (size) =>
    filled(size, inTool('[', '')[0], `${'{"a":'.repeat(55)}0${'}'.repeat(55)}`, inTool('', ']')[1], ','),
  'a schema of []': (size) => filled(size, inTool('[', '')[0], '[]', inTool('', ']')[1], ','),
  'a schema of 0': (size) => filled(size, inTool('[', '')[0], '0', inTool('', ']')[1], ','),
  'a schema of keys': (size) =>
    counted(size, inTool('{', '')[0], (index) => `"${index.toString(36)}":0`, inTool('', '}')[1]),
  'a schema of 1,000 keys': (size) =>
    counted(size, inTool('[', '')[0], (index) => objectOf(1_000, index), inTool('', ']')[1]),
  'a schema of 60 keys': (size) =>
    counted(size, inTool('[', '')[0], (index) => objectOf(60, index), inTool('', ']')[1]),
  'messages without content': (size) =>
    filled(size, '{"model":"m","messages":[', '{"role":"user"}', ']}', ','),
  'the shortest messages': (size) =>
    filled(size, '{"model":"m","messages":[', '{"role":"user","content":""}', ']}', ','),
  'the shortest parts': (size) =>
    filled(
      size,
      '{"model":"m","messages":[{"role":"user","content":[',
      '{"type":"text","text":""}',
      ']}]}',
      ',',
    ),
  'the shortest tools': (size) =>
    counted(
      size,
      `${talk},"tools":[`,
      (index) => `{"type":"function","function":{"name":"${index.toString(36)}"}}`,
      ']}',
    ),
};

/** Only what the bound on input tokens reads. */
const model = { contextWindow: 1_000_000 } as Model;

function serveBody(bytes: Uint8Array<ArrayBuffer>): string {
  try {
    inputBound(parseChat(parseJsonBody(bytes)).call, model);
    return 'accepted';
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown;
    errorResponse(thrown);
    return thrown.message;
  }
}

function readAnswer(bytes: Uint8Array<ArrayBuffer>): string {
  try {
    parseJson(new TextDecoder().decode(bytes));
    return 'accepted';
  } catch {
    return 'refused';
  }
}

/** Microseconds of CPU, the best of several rounds. */
function cost(run: () => void, budgetMs: number): number {
  let best = Number.POSITIVE_INFINITY;
  const started = performance.now();
  let times = 1;
  while (performance.now() - started < budgetMs) {
    const before = process.cpuUsage();
    for (let time = 0; time < times; time++) run();
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / times);
    if (user + system < 15_000) times *= 2;
  }
  return best;
}

const only = process.argv[2];
for (const [title, run] of [
  ['request', serveBody],
  ['answer', readAnswer],
] as const) {
  if (only !== undefined && only !== title) continue;
  for (const size of sizes) {
    const rows: string[][] = [];
    let ordinary = 0;
    for (const [name, make] of Object.entries(shapes)) {
      const bytes = new TextEncoder().encode(make(size));
      const outcome = run(bytes);
      const microseconds = cost(() => run(bytes), 200);
      if (ordinary === 0) ordinary = microseconds;
      rows.push([
        name,
        formatNumber(microseconds),
        formatNumber((microseconds / bytes.byteLength) * 1024),
        formatNumber(microseconds / ordinary),
        outcome.slice(0, 60),
      ]);
    }
    console.log(`\n${title}, ${size} bytes\n`);
    console.log(formatTable(['shape', 'µs', 'µs/KB', '× ordinary', 'outcome'], rows));
  }
}
