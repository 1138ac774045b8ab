/** Clients that leave in the middle, promise too much, or do not speak HTTP as they should. */
import { chatBody } from './bodies.ts';
import { brokenRequests } from './broken-http.ts';
import { chatModels } from './catalog.ts';
import { bearer, chat, type Maker, plainChat, post, request } from './maker.ts';
import { encode, type Parts } from './request.ts';

export const leaver: Maker = (random, keys) => {
  const body = JSON.stringify({
    ...chatBody(random, chatModels[0], '[[long 40]] [[chunk-delay 5]]'),
    stream: true,
  });
  const parts = post(chat, keys.good, body);
  if (random.happens(0.5))
    return request('leaves in the middle of the answer', parts, { leave: 'when answered' });
  const bytes = encode(parts);
  return request('leaves in the middle of the body', parts, {
    bytes: bytes.subarray(0, random.between(1, bytes.length - 1)),
    leave: 'when sent',
  });
};

export const bigPromise: Maker = (random, keys) =>
  request(
    'announces far more than it sends',
    {},
    {
      bytes: Buffer.from(
        `POST ${chat} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${keys.broke}\r\ncontent-type: application/json\r\ncontent-length: ${random.pick([20_000_000, 900_000_000, 5_000])}\r\n\r\n${'['.repeat(random.pick([1, 1_000, 60_000]))}`,
      ),
      leave: 'when sent',
    },
  );

export const brokenHttp: Maker = (random, keys) => {
  const { name, of } = random.pick(brokenRequests);
  const parts: Parts = random.happens(0.5)
    ? post(chat, keys.good, JSON.stringify(plainChat(random)))
    : { target: '/v1/models', headers: [bearer(keys.good)] };
  const bytes = Buffer.from(of(encode(parts).toString('latin1'), random), 'latin1');
  return request(`HTTP: ${name}`, parts, { bytes, framing: 'broken', provokes: 'failure' });
};

/** No client in use pipelines. The server may answer in turn, or close the connection. */
export const pipelined: Maker = (random, keys) => {
  const count = random.between(2, 5);
  const target = random.pick(['/v1/models', '/v1/usage', '/v1/nothing', '/healthz']);
  const parts: Parts = { target, headers: [bearer(keys.good)] };
  return request('several at once on one connection', parts, {
    bytes: Buffer.concat(Array.from({ length: count }, () => encode(parts))),
    framing: 'broken',
    answers: count,
  });
};
