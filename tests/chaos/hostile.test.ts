/** A short form of `npm run chaos -- --hostile`, and whether its judge notices what it is there to notice. */
import { beforeAll, describe, expect, test } from 'bun:test';
import { type Answer, AnswerReader } from '../../chaos/hostile/answer-reader.ts';
import { judgeExchange } from '../../chaos/hostile/judge.ts';
import type { Keys } from '../../chaos/hostile/maker.ts';
import { formatHostileReport } from '../../chaos/hostile/report.ts';
import { encode, type HostileRequest } from '../../chaos/hostile/request.ts';
import { hostileRequest } from '../../chaos/hostile/requests.ts';
import { type HostileResult, runHostile } from '../../chaos/hostile/run.ts';
import { formatPage, isTrue } from '../../chaos/judge/report.ts';
import { Random } from '../../chaos/random.ts';
import { preparedTemplate } from '../support/embedded.ts';

const deadlineMs = 180_000;

describe('the reader of answers', () => {
  const answers =
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello' +
    'HTTP/1.1 204 No Content\r\n\r\n' +
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n' +
    'HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\nuntil the end';

  test.each([1, 2, 7, 1_000])('reads them in pieces of %d bytes', (size) => {
    const read: Answer[] = [];
    const reader = new AnswerReader((answer) => read.push(answer));
    for (let at = 0; at < answers.length; at += size) reader.push(Buffer.from(answers.slice(at, at + size)));
    reader.end();
    expect(read.map(({ status, text }) => [status, text])).toEqual([
      [200, 'hello'],
      [204, ''],
      [400, 'abcde'],
      [404, 'until the end'],
    ]);
    expect(read.map(({ isKeptAlive }) => isKeptAlive)).toEqual([true, true, true, false]);
  });

  test('refuses what is not HTTP', () => {
    const reader = new AnswerReader(() => undefined);
    expect(() => reader.push(Buffer.from('SSH-2.0\r\n\r\n'))).toThrow('begins with');
  });
});

describe('the judge', () => {
  const request: HostileRequest = {
    name: 'test',
    bytes: encode({ target: '/v1/models' }),
    framing: 'sound',
    answers: 1,
    isHeadOnly: false,
    leave: null,
    isApi: true,
    provokes: 'nothing',
  };
  const head = (status: number, more = '') => `http/1.1 ${status} x\r\nx-service-request-id: req_1${more}`;
  const errorOf = (code: string) => JSON.stringify({ error: { message: 'm', type: 't', code } });
  const judged = (answer: Partial<Answer>, asked: Partial<HostileRequest> = {}) =>
    judgeExchange(
      { ...request, ...asked },
      {
        answers: [
          { status: 200, head: head(answer.status ?? 200), text: '{}', isKeptAlive: true, ...answer },
        ],
        ended: 'answered',
      },
    );

  test('accepts what the contract allows', () => {
    expect(judged({})).toBeNull();
    expect(judged({ status: 400, text: errorOf('invalid_json') })).toBeNull();
    expect(judged({ status: 503, text: errorOf('server_overloaded') })).toBeNull();
    expect(judged({ status: 502, text: errorOf('provider_error') }, { provokes: 'failure' })).toBeNull();
    expect(
      judged({ status: 500, text: errorOf('billing_consistency_error') }, { provokes: 'unbillable' }),
    ).toBeNull();
    expect(judgeExchange({ ...request, leave: 'when sent' }, { answers: [], ended: 'left' })).toBeNull();
    expect(judgeExchange({ ...request, framing: 'broken' }, { answers: [], ended: 'closed' })).toBeNull();
  });

  test('notices failures that the request does not explain', () => {
    expect(judged({ status: 500, text: errorOf('internal_error') })).toBe('500 internal_error');
    expect(judged({ status: 500, text: errorOf('internal_error') }, { provokes: 'failure' })).not.toBeNull();
    expect(judged({ status: 502, text: errorOf('provider_error') })).toBe('502 provider_error');
    expect(
      judged({ status: 500, text: errorOf('billing_consistency_error') }, { provokes: 'failure' }),
    ).not.toBeNull();
    expect(judged({ status: 500, head: 'http/1.1 500 x', text: '' }, { framing: 'broken' })).not.toBeNull();
  });

  test('notices answers without their shape, their ID or their end', () => {
    expect(judged({ status: 400, text: 'Bad Request' })).not.toBeNull();
    expect(judged({ status: 404, text: errorOf('invalid_json') })).not.toBeNull();
    expect(judged({ status: 400, text: errorOf('made_up') })).not.toBeNull();
    expect(judged({ head: 'http/1.1 200 ok' })).toBe('200 without a request ID');
    expect(judgeExchange(request, { answers: [], ended: 'closed' })).not.toBeNull();
    expect(judgeExchange(request, { answers: [], ended: 'silent' })).not.toBeNull();
  });

  test('notices what must not get through, and streams that fail without a reason', () => {
    expect(judged({ text: '{"x":"sandbox-private-detail"}' })).not.toBeNull();
    expect(judged({ head: head(200, '\r\nx: sandbox-private-header') })).not.toBeNull();
    const stream = (code: string) => ({
      head: head(200, '\r\ncontent-type: text/event-stream'),
      text: `data: {}\n\ndata: ${errorOf(code)}\n\ndata: [DONE]\n\n`,
    });
    expect(judged(stream('streaming_error'), { provokes: 'failure' })).not.toBeNull();
    expect(judged(stream('provider_stream_error'))).not.toBeNull();
    expect(judged(stream('provider_stream_error'), { provokes: 'failure' })).toBeNull();
  });
});

test('a request can be reproduced by its number', () => {
  const names = ['good', 'broke', 'revoked', 'expired', 'suspended', 'restricted', 'limited', 'slow'];
  const keys = Object.fromEntries(names.map((name) => [name, `svc_sk_${name}`])) as Keys;
  const sent = (seed: number) =>
    Array.from({ length: 300 }, (_, number) => hostileRequest(number, new Random(seed).fork(number), keys));
  expect(sent(7)).toEqual(sent(7));
  expect(sent(7)).not.toEqual(sent(8));
});

test('each report is written under its own heading of the page, and leaves the rest as it is', () => {
  const page = '# Chaos\n\n## Last run\n\nold kills\n\n## Last hostile run\n\nold requests\n';
  const date = new Date('2026-11-15');
  const kills = formatPage(page, 'Last run', 'new kills', 'npm run chaos', '18.4', date);
  expect(kills).toContain('$ npm run chaos\n\nnew kills\n```\n\n## Last hostile run\n\nold requests\n');
  expect(kills).not.toContain('old kills');
  const both = formatPage(kills, 'Last hostile run', 'new requests', 'npm run chaos', '18.4', date);
  expect(both).toContain('new kills\n```\n\n## Last hostile run\n\n2026-11-15, ');
  expect(both.endsWith('new requests\n```\n')).toBe(true);
  expect(both).not.toContain('old requests');
});

describe('a gateway under hostile requests', () => {
  let result: HostileResult;

  beforeAll(async () => {
    result = await runHostile({
      requests: 2_000,
      connections: 32,
      seed: 1,
      preparedFolder: await preparedTemplate(),
    });
    console.log(formatHostileReport(result));
    if (result.truths.every(isTrue)) result.remove();
  }, deadlineMs);

  test('answers each of them as it should', () => {
    const broken = result.truths.filter((truth) => !isTrue(truth) && truth.isTiming !== true);
    expect(broken).toEqual([]);
  });

  test('got many kinds of requests, and answered in many ways', () => {
    expect(result.sent.size).toBeGreaterThan(50);
    expect([...result.answered.keys()]).toEqual(
      expect.arrayContaining(['200', '400', '401', '402', '404', '502', 'left']),
    );
    expect(result.memory.atEnd).toBeGreaterThan(0);
  });
});
