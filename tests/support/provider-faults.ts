/**
 * What a provider can do wrong, and what a client must get for it. One row per fault; each is played in every format,
 * non-streamed and streamed, alone and with another provider as fallback.
 */
import type { Fault } from '../../chaos/world/fault.ts';
import type { ErrorCode } from '../../src/errors.ts';

export const formats = ['openai', 'anthropic', 'google', 'responses'] as const;
export type Format = (typeof formats)[number];

/** Where the sandbox speaks each of them. */
export const pathOf = {
  openai: '/v1',
  anthropic: '/v1',
  google: '/v1beta',
  responses: '/v1',
} satisfies Record<Format, string>;

/** In the catalogue, one format is an API of another's providers. */
export const adapterOf = (format: Format) => (format === 'responses' ? 'openai' : format);
export const routeTo = (provider: string, format: Format) =>
  format === 'responses' ? `{ provider: ${provider}, api: responses }` : provider;

/** `refused`: an HTTP error, nothing was sent before. `broken`: a stream that ends with this error inside it. */
export type Outcome =
  | Readonly<{ kind: 'completed' }>
  | Readonly<{
      kind: 'refused' | 'broken';
      code: ErrorCode;
      upstreamStatus: number | null;
      /** Whether another provider can take over, so that the client need not see it. */
      isAvoidable: boolean;
      /** Whether the usage that follows is charged, because something was delivered before. */
      isPaid?: boolean;
    }>;

export type Deadline = 'first_byte' | 'idle' | 'total';

export type Row = Readonly<{
  name: string;
  /** How the provider is made to fail: by directives, by the network in front of it, or by fixed bytes. */
  cause:
    | Readonly<{ directives: string }>
    | Readonly<{ network: Fault }>
    | Readonly<{ bytes: string; thenSilence?: boolean }>;
  /** Which of its deadlines has to end the call. Only these providers get a short one: a busy machine misses it. */
  deadline?: Deadline;
  whole: Outcome;
  stream: Outcome | Readonly<Record<Format, Outcome>>;
}>;

const completed: Outcome = { kind: 'completed' };

/** The operator's credit there is used up, or the model is retired: other providers are not affected. */
const concernsOperator = (status: number | null) => status === 402 || status === 404 || status === 410;

/** The request itself is to blame for a bad request; everything else is worth another try elsewhere. */
function refused(code: ErrorCode, upstreamStatus: number | null): Outcome {
  const isAvoidable = code !== 'provider_bad_request' || concernsOperator(upstreamStatus);
  return { kind: 'refused', code, upstreamStatus, isAvoidable };
}

/** The provider has done its work, but it cannot be billed. */
const withheld: Outcome = {
  kind: 'refused',
  code: 'billing_consistency_error',
  upstreamStatus: 200,
  isAvoidable: false,
};

function broken(code: ErrorCode): Outcome {
  return { kind: 'broken', code, upstreamStatus: 200, isAvoidable: false };
}

/** Nothing more is forwarded, but the provider goes on and reports its usage. */
function brokenAndPaid(code: ErrorCode): Outcome {
  return { kind: 'broken', code, upstreamStatus: 200, isAvoidable: false, isPaid: true };
}

/** Sent inside a stream, because the code has no status, although none of the answer was sent. */
function brokenEarly(code: ErrorCode): Outcome {
  return { kind: 'broken', code, upstreamStatus: 200, isAvoidable: true };
}

/** The same in both modes. */
function both(name: string, cause: Row['cause'], outcome: Outcome): Row {
  return { name, cause, whole: outcome, stream: outcome };
}

/** Ended by this deadline in both modes, after this status or before any. */
function late(name: string, cause: Row['cause'], deadline: Deadline, upstreamStatus: number | null): Row {
  return { ...both(name, cause, refused('provider_timeout', upstreamStatus)), deadline };
}

function status(code: number, outcome: ErrorCode): Row {
  return both(`status ${code}`, { directives: `[[status ${code}]]` }, refused(outcome, code));
}

/** If the finish reason and the usage are one event, anything after it comes too late to do harm. */
const onlyOpenai = (outcome: Outcome): Row['stream'] => ({
  openai: outcome,
  anthropic: completed,
  google: completed,
  responses: completed,
});

/** A position inside a stream; whole answers with the same directive break half way through the body. */
function midway(directive: string, where: string, whole: Outcome, stream: Row['stream']): Row {
  return { name: `${directive} ${where}`, cause: { directives: `[[${directive} ${where}]]` }, whole, stream };
}

/**
 * A reset overtakes what the gateway has not read yet, which makes it a different fault. So each piece gets a second, and
 * there are no more pieces than the position needs.
 */
function cut(where: string, stream: Row['stream']): Row {
  const text = where === '4' ? 'one two three four five six' : 'one two';
  const directives = `[[cut ${where}]] [[chunk-delay 1000]] [[say ${text}]]`;
  return { ...midway('cut', where, refused('provider_unavailable', 200), stream), cause: { directives } };
}

function stall(where: string, stream: Row['stream']): Row {
  return { ...midway('stall', where, refused('provider_timeout', 200), stream), deadline: 'idle' };
}

const unreadable = refused('provider_unknown_error', 200);
const unopened = refused('provider_stream_error', 200);

const statuses: readonly Row[] = [
  status(400, 'provider_bad_request'),
  status(401, 'provider_authentication_error'),
  status(402, 'provider_bad_request'),
  status(403, 'provider_authentication_error'),
  status(404, 'provider_bad_request'),
  status(405, 'provider_bad_request'),
  status(408, 'provider_timeout'),
  status(409, 'provider_bad_request'),
  status(410, 'provider_bad_request'),
  status(413, 'provider_bad_request'),
  status(415, 'provider_bad_request'),
  status(422, 'provider_bad_request'),
  status(429, 'provider_rate_limit'),
  status(500, 'provider_unavailable'),
  status(501, 'provider_unavailable'),
  status(502, 'provider_unavailable'),
  status(503, 'provider_unavailable'),
  status(504, 'provider_timeout'),
  status(520, 'provider_unavailable'),
  status(529, 'provider_unavailable'),
  {
    name: 'status 204, which has no body',
    cause: { directives: '[[status 204]]' },
    whole: refused('provider_unknown_error', 204),
    stream: refused('provider_stream_error', 204),
  },
  both(
    'a redirect, which is not followed',
    { directives: '[[redirect]]' },
    refused('provider_unknown_error', 302),
  ),
];

const bodies: readonly Row[] = [
  both('an HTML page with status 502', { directives: '[[html 502]]' }, refused('provider_unavailable', 502)),
  both(
    'an HTML page with status 403',
    { directives: '[[html 403]]' },
    refused('provider_authentication_error', 403),
  ),
  {
    name: 'an HTML page with status 200',
    cause: { directives: '[[html 200]]' },
    whole: unreadable,
    stream: unopened,
  },
  {
    name: 'status 200 with an error body',
    cause: { directives: '[[error-body]]' },
    whole: unreadable,
    stream: unopened,
  },
  {
    name: 'status 200 without JSON',
    cause: { directives: '[[not-json]]' },
    whole: unreadable,
    stream: unopened,
  },
  // For a non-streamed answer the body counts, whatever its content type.
  {
    name: 'the wrong content type',
    cause: { directives: '[[wrong-type]]' },
    whole: completed,
    stream: unopened,
  },
  {
    name: 'gzip that was not asked for',
    cause: { directives: '[[gzip]]' },
    whole: unreadable,
    stream: unopened,
  },
  {
    name: 'an empty answer',
    cause: { directives: '[[empty]]' },
    whole: unreadable,
    stream: brokenEarly('empty_provider_stream'),
  },
  {
    name: 'more than is ever read',
    cause: { directives: '[[huge 34]]' },
    whole: unreadable,
    stream: brokenEarly('malformed_stream_chunk'),
  },
];

const usage: readonly Row[] = [
  {
    name: 'no usage',
    cause: { directives: '[[no-usage]]' },
    whole: withheld,
    stream: broken('usage_missing'),
  },
  ...['negative', 'fraction', 'string', 'partial'].map((kind) => ({
    name: `usage that cannot be: ${kind}`,
    cause: { directives: `[[bad-usage ${kind}]]` },
    whole: withheld,
    stream: broken('usage_missing'),
  })),
];

const positions: readonly Row[] = [
  cut('0', unopened),
  cut('1', broken('provider_stream_error')),
  cut('4', broken('provider_stream_error')),
  cut('finish', onlyOpenai(broken('provider_stream_error'))),
  cut('usage', completed),
  midway('end', '0', unreadable, brokenEarly('empty_provider_stream')),
  midway('end', '1', unreadable, broken('provider_stream_error')),
  midway('end', '4', unreadable, broken('provider_stream_error')),
  midway('end', 'finish', unreadable, onlyOpenai(broken('usage_missing'))),
  midway('end', 'usage', unreadable, completed),
  stall('0', refused('provider_timeout', 200)),
  stall('1', broken('provider_timeout')),
  stall('4', broken('provider_timeout')),
  stall('finish', onlyOpenai(broken('provider_timeout'))),
  stall('usage', completed),
  midway('malformed', '0', unreadable, brokenEarly('malformed_stream_chunk')),
  midway('malformed', '1', unreadable, brokenAndPaid('malformed_stream_chunk')),
  midway('malformed', '4', unreadable, brokenAndPaid('malformed_stream_chunk')),
  midway('malformed', 'finish', unreadable, onlyOpenai(brokenAndPaid('malformed_stream_chunk'))),
  midway('malformed', 'usage', unreadable, completed),
  ...['utf-8', 'list'].flatMap((fault) => [
    midway('malformed', `0 ${fault}`, unreadable, brokenEarly('malformed_stream_chunk')),
    midway('malformed', `2 ${fault}`, unreadable, brokenAndPaid('malformed_stream_chunk')),
    midway('malformed', `usage ${fault}`, unreadable, completed),
  ]),
  {
    name: 'an unreadable chunk at the start, in one piece with the rest',
    cause: { directives: '[[malformed 0]] [[burst]]' },
    whole: unreadable,
    stream: brokenEarly('malformed_stream_chunk'),
  },
  {
    name: 'an unreadable chunk and no usage after it',
    cause: { directives: '[[malformed 2]] [[no-usage]]' },
    whole: unreadable,
    stream: broken('malformed_stream_chunk'),
  },
  {
    name: 'an unreadable chunk and usage that cannot be after it',
    cause: { directives: '[[malformed 2]] [[bad-usage negative]]' },
    whole: unreadable,
    stream: broken('malformed_stream_chunk'),
  },
  {
    name: 'an unreadable chunk, usage, and no marker at the end',
    cause: { directives: '[[malformed 2]] [[no-done]]' },
    whole: unreadable,
    stream: brokenAndPaid('malformed_stream_chunk'),
  },
  midway('error-event', '0', completed, unopened),
  midway('error-event', '1', completed, broken('provider_stream_error')),
  midway('error-event', '4', completed, broken('provider_stream_error')),
  midway('error-event', 'finish', completed, onlyOpenai(broken('provider_stream_error'))),
  {
    name: 'the same piece again and again',
    cause: { directives: '[[repeat 200]]' },
    whole: completed,
    stream: brokenAndPaid('repeated_streaming_chunk_limit'),
  },
  both('no marker at the end', { directives: '[[no-done]]' }, completed),
  late('an answer that drips in', { directives: '[[bytes 1]] [[chunk-delay 100]]' }, 'total', 200),
  both('one byte at a time', { directives: '[[bytes 1]]' }, completed),
  both('unusual line ends and comments', { directives: '[[crlf]]' }, completed),
];

const connections: readonly Row[] = [
  both('reset before any header', { directives: '[[close]]' }, refused('provider_unavailable', null)),
  late('silence before any header', { directives: '[[hang]]' }, 'first_byte', null),
  both('refused by the network', { network: { kind: 'refuse' } }, refused('provider_unavailable', null)),
  both(
    'closed without a byte',
    { network: { kind: 'cut', afterBytes: 0 } },
    refused('provider_unavailable', null),
  ),
  both(
    'reset without a byte',
    { network: { kind: 'reset', afterBytes: 0 } },
    refused('provider_unavailable', null),
  ),
  late('a black hole', { network: { kind: 'black-hole', afterBytes: 0 } }, 'first_byte', null),
  both(
    'closed inside the headers',
    { network: { kind: 'cut', afterBytes: 30 } },
    refused('provider_unavailable', null),
  ),
  both(
    'reset inside the headers',
    { network: { kind: 'reset', afterBytes: 30 } },
    refused('provider_unavailable', null),
  ),
  late('silence inside the headers', { network: { kind: 'black-hole', afterBytes: 30 } }, 'first_byte', null),
  late('headers that drip in', { network: { kind: 'drip', everyMs: 100 } }, 'first_byte', null),
  late('a minute of delay', { network: { kind: 'delay', delayMs: 60_000 } }, 'first_byte', null),
];

// These servers answer once. Without the header, another request could go to a connection that is about to end.
const head = 'HTTP/1.1 200 OK\r\nconnection: close\r\n';
const jsonHead = `${head}content-type: application/json\r\n`;
const streamHead = `${head}content-type: text/event-stream\r\n`;

const fixedJson = (body: string) => `${jsonHead}content-length: ${body.length}\r\n\r\n${body}`;
const megabyte = 1_048_576;
const chunk = `${megabyte.toString(16)}\r\n${' '.repeat(megabyte)}\r\n`;

const wire: readonly Row[] = [
  both(
    'something that is not HTTP',
    { bytes: 'SSH-2.0-OpenSSH_9.7\r\n\r\n' },
    refused('provider_unknown_error', null),
  ),
  {
    name: 'less than it announced',
    cause: { bytes: `${jsonHead}content-length: 500\r\n\r\n{"id":"x",` },
    whole: refused('provider_unavailable', 200),
    stream: unopened,
  },
  {
    name: 'a broken chunk size',
    cause: { bytes: `${streamHead}transfer-encoding: chunked\r\n\r\nzz\r\ndata: {}\r\n` },
    whole: refused('provider_unknown_error', 200),
    stream: refused('provider_stream_error', 200),
  },
  {
    name: 'an event whose line never ends',
    cause: { bytes: `${streamHead}\r\n${'data: '.padEnd(200, 'x')}`, thenSilence: true },
    deadline: 'idle',
    whole: refused('provider_timeout', 200),
    stream: refused('provider_timeout', 200),
  },
  {
    name: 'comments and nothing else, then the end',
    cause: { bytes: `${streamHead}\r\n${': keep-alive\n\n'.repeat(50)}` },
    whole: unreadable,
    stream: brokenEarly('empty_provider_stream'),
  },
  {
    name: 'text that is not UTF-8',
    cause: { bytes: `${streamHead}\r\ndata: {"choices":[{"index":0,"delta":{"content":"\xff"}}]}\n\n` },
    whole: unreadable,
    stream: brokenEarly('malformed_stream_chunk'),
  },
  {
    name: 'an answer that is not UTF-8',
    cause: {
      bytes: fixedJson('{"choices":[{"index":0,"message":{"content":"\xff"},"finish_reason":"stop"}]}'),
    },
    whole: unreadable,
    stream: unopened,
  },
  {
    name: 'far more than it announced, in chunks',
    cause: {
      bytes: `${jsonHead}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n${chunk.repeat(34)}0\r\n\r\n`,
    },
    whole: unreadable,
    stream: unopened,
  },
  {
    name: 'JSON of another kind',
    cause: { bytes: `${jsonHead}content-length: 5\r\n\r\n[1,2]` },
    whole: unreadable,
    stream: unopened,
  },
];

export const rows: readonly Row[] = [...statuses, ...bodies, ...usage, ...positions, ...connections, ...wire];
