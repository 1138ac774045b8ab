/** Requests that ask the provider to misbehave, in every way that the sandbox knows. */
import { chatBody } from './bodies.ts';
import { chatModels, hastyModel } from './catalog.ts';
import { chat, type Maker, post, request } from './maker.ts';
import type { HostileRequest } from './request.ts';

type Misdeed = Readonly<{ directives: string; provokes?: HostileRequest['provokes']; isHasty?: boolean }>;

/** What the provider is asked to do, and what may fail because of it. */
const misdeeds: readonly [Misdeed, ...Misdeed[]] = [
  { directives: '[[repeat 200]]', provokes: 'failure' },
  ...[
    '200',
    '201',
    '302',
    '400',
    '401',
    '402',
    '403',
    '404',
    '408',
    '409',
    '413',
    '422',
    '429',
    '500',
    '503',
    '529',
  ].map((status): Misdeed => ({ directives: `[[status ${status}]]`, provokes: 'failure' })),
  ...[
    'html 502',
    'error-body',
    'not-json',
    'redirect',
    'close',
    'cut 1',
    'cut finish',
    'end 1',
    'malformed 1',
    'malformed 1 utf-8',
    'malformed 1 list',
    'error-event 1',
    'empty',
    'wrong-type',
  ].map((name): Misdeed => ({ directives: `[[${name}]]`, provokes: 'failure' })),
  ...[
    'no-usage',
    'bad-usage negative',
    'bad-usage fraction',
    'bad-usage string',
    'bad-usage partial',
    'bad-usage total',
    'end finish',
  ].map((name): Misdeed => ({ directives: `[[${name}]]`, provokes: 'unbillable' })),
  ...['hang', 'stall 1', 'delay 300', 'chunk-delay 150'].map(
    (name): Misdeed => ({ directives: `[[${name}]]`, provokes: 'failure', isHasty: true }),
  ),
  ...[
    'no-done',
    'crlf',
    'bytes 1',
    'burst',
    'gzip',
    'zero-usage',
    'usage 10 100000000',
    'usage 9999999 1',
    'reasoning 50',
    'cached 30',
    'cached 9999999',
    'cache-write 30',
    'cache-write 9999999 1h',
    'usage-contradiction',
    'finish nonsense',
    'finish content_filter',
    'retry-after 1',
    'long 300',
  ].map((name): Misdeed => ({ directives: `[[${name}]]`, provokes: 'failure' })),
  { directives: '[[huge 1]]', provokes: 'failure' },
  { directives: '[[tools 3]]', provokes: 'failure' },
  { directives: '[[no-such-directive]]', provokes: 'failure' },
];

export const misbehavingProvider: Maker = (random, keys) => {
  const { directives, provokes = 'nothing', isHasty = false } = random.pick(misdeeds);
  const model = isHasty ? hastyModel : random.pick(chatModels);
  const body = chatBody(random, model, `Hello ${directives}`);
  return request(`provider asked for ${directives}`, post(chat, keys.good, JSON.stringify(body)), {
    provokes,
  });
};
