import { describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import fc from 'fast-check';
import { ApiError, errorTable, presentError } from '../../src/errors.ts';
import { maxBodyBytes, parseJsonBody, readJsonBody } from '../../src/json/body.ts';

const json = 'application/json';

function post(body: RequestInit['body'], contentType: string | null = json, headers = {}): Request {
  const request = new Request('http://gateway/', { method: 'POST', body: body ?? null, headers });
  if (contentType === null) request.headers.delete('content-type');
  else request.headers.set('content-type', contentType);
  return request;
}

async function refusalOf(reading: Promise<unknown>): Promise<ApiError> {
  const thrown: unknown = await reading.then(
    () => null,
    (error: unknown) => error,
  );
  if (thrown instanceof ApiError) return thrown;
  throw new TypeError(`expected an ApiError, got ${String(thrown)}`);
}

async function codeOf(reading: Promise<unknown>): Promise<string> {
  const { code, param } = await refusalOf(reading);
  return param === undefined ? code : `${code} ${param}`;
}

const bytes = (...values: readonly (string | number)[]) =>
  Buffer.concat(values.map((value) => (typeof value === 'string' ? Buffer.from(value) : Buffer.of(value))));

describe('the content type', () => {
  const accepted = [
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json ; charset="utf-8"',
    'application/json; charset=utf8',
    'application/json; profile=x',
  ];
  test.each(accepted)('%s is accepted', async (contentType) => {
    expect(await readJsonBody(post('{"a":1}', contentType))).toEqual({ a: 1 });
  });

  const refused = [
    null,
    '',
    'text/plain',
    'application/jsonx',
    'application/json-patch+json',
    'text/application/json',
    'application/json, text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=latin1',
    'application/json; charset="utf-8',
    'application/json; charset=utf-8; charset=utf-16',
    'application/json; charset=utf-8x',
    'application/json; charset=x-charset=utf-8',
  ];
  test.each(refused)('%p is refused', async (contentType) => {
    expect(await codeOf(readJsonBody(post('{"a":1}', contentType)))).toBe('invalid_request');
  });
});

describe('the bytes', () => {
  const invalidJson: readonly (readonly [string, string | Uint8Array<ArrayBuffer> | null])[] = [
    ['no body', null],
    ['an empty body', ''],
    ['white space', ' \n'],
    ['a cut object', '{"a":1'],
    ['a trailing comma', '{"a":1,}'],
    ['something after the end', '{} {}'],
    ['single quotes', "{'a':1}"],
    ['NaN', '{"a":NaN}'],
    ['a raw control character in a string', '{"a":"\u0001"}'],
    ['a raw NUL in a string', '{"a":"\0"}'],
    ['a comment', '{/* a */}'],
    ['a lone continuation byte', bytes('{"a":"', 0x80, '"}')],
    ['an overlong encoding', bytes('{"a":"', 0xc0, 0xaf, '"}')],
    ['an encoded surrogate', bytes('{"a":"', 0xed, 0xa0, 0x80, '"}')],
    ['a cut character', bytes('{"a":"', 0xf0, 0x9f, 0x98)],
    ['UTF-16', bytes(0xff, 0xfe, '{', 0, '}', 0)],
    ['a gzip body', Bun.gzipSync('{"a":1}')],
  ];
  test.each(invalidJson)('%s is invalid_json', async (_, body) => {
    expect(await codeOf(readJsonBody(post(body)))).toBe('invalid_json');
  });

  test.each(['[]', '[{"a":1}]', '"text"', '1', 'null', 'true', '1e400'])(
    '%s at the top is invalid_request',
    async (body) => {
      expect(await codeOf(readJsonBody(post(body)))).toBe('invalid_request');
    },
  );

  test('a compressed body is refused for what it is', async () => {
    const { code, message } = await refusalOf(readJsonBody(post('{}', json, { 'content-encoding': 'gzip' })));
    expect([code, message]).toEqual(['invalid_request', 'The body must not be compressed.']);
  });

  test('a byte order mark is dropped', async () => {
    expect(await readJsonBody(post(bytes(0xef, 0xbb, 0xbf, '{"a":"é😀"}')))).toEqual({ a: 'é😀' });
  });

  test('the message of a refusal does not quote the body', async () => {
    const { message } = await refusalOf(readJsonBody(post('{"secret-word"')));
    expect(message).toBe('The request body is not valid JSON.');
    expect((await refusalOf(readJsonBody(post('')))).message).toBe('The request body is empty.');
  });

  test('any bytes give an object or a refusal of status 400', async () => {
    const anyBody = fc.oneof(
      fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array)),
      fc.string({ unit: fc.constantFrom(...'{}[]":,\\u0a1e-. ntrue') }),
      fc.json(),
      fc.json().map((text) => `{"a":${text},"b":"\\ud800"}`),
    );
    await fc.assert(
      fc.asyncProperty(anyBody, fc.boolean(), async (body, isAnnounced) => {
        const headers = isAnnounced ? { 'content-length': `${Buffer.byteLength(body)}` } : {};
        try {
          const value = await readJsonBody(post(body, json, headers));
          expect(typeof value === 'object' && value !== null && !Array.isArray(value)).toBe(true);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(ApiError);
          expect(thrown instanceof ApiError && errorTable[thrown.code].status).toBe(400);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('the size', () => {
  /** A valid body of exactly this many bytes. */
  const sized = (size: number) => `{"a":"${'x'.repeat(size - 8)}"}`;

  test('the largest body has 20 MB', () => {
    expect(maxBodyBytes).toBe(20_971_520);
  });

  test('the largest body is accepted, one byte more is refused, announced or not', async () => {
    for (const isAnnounced of [true, false]) {
      const request = (size: number) =>
        post(sized(size), json, isAnnounced ? { 'content-length': `${size}` } : {});
      expect(Object.keys(Object(await readJsonBody(request(maxBodyBytes))))).toEqual(['a']);
      expect(await codeOf(readJsonBody(request(maxBodyBytes + 1)))).toBe('invalid_request');
    }
  });

  test('a body that is announced too large is not read', async () => {
    let pulls = 0;
    const stream = new ReadableStream({ pull: () => void pulls++ }, { highWaterMark: 0 });
    const request = post(stream, json, { 'content-length': `${maxBodyBytes + 1}` });
    expect(await codeOf(readJsonBody(request))).toBe('invalid_request');
    expect(pulls).toBe(0);
    expect(request.bodyUsed).toBe(false);
  });

  test('an announcement smaller than the body does not help', async () => {
    const request = post(sized(maxBodyBytes + 1), json, { 'content-length': '10' });
    expect(await codeOf(readJsonBody(request))).toBe('invalid_request');
  });

  test('an endless body is stopped at the limit, and its stream cancelled', async () => {
    let sentBytes = 0;
    let isCancelled = false;
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        sentBytes += chunk.length;
        controller.enqueue(chunk);
      },
      cancel() {
        isCancelled = true;
      },
    });
    expect(await codeOf(readJsonBody(post(stream)))).toBe('invalid_request');
    expect(sentBytes).toBeLessThanOrEqual(maxBodyBytes + 3 * chunk.length);
    expect(isCancelled).toBe(true);
  });

  test('a body in many pieces is put together, whatever the pieces cut', async () => {
    const whole = Buffer.from('{"a":"é😀","b":[1,2]}');
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of whole) controller.enqueue(Buffer.of(byte));
        controller.close();
      },
    });
    expect(await readJsonBody(post(stream))).toEqual({ a: 'é😀', b: [1, 2] });
  });

  test('a body that breaks off is a refusal', async () => {
    const stream = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(new Error('gone')),
    });
    expect(await codeOf(readJsonBody(post(stream)))).toBe('invalid_request');
  });
});

describe('over a socket', () => {
  async function answerTo(send: (write: (text: string) => void) => void): Promise<string> {
    using server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      fetch: (request) =>
        readJsonBody(request).then(
          (value) => Response.json(value),
          (error: ApiError) =>
            Response.json(presentError(error), { status: errorTable[error.code].status ?? 0 }),
        ),
    });
    const { promise, resolve } = Promise.withResolvers<string>();
    const socket = connect(server.port ?? 0, '127.0.0.1');
    let answer = '';
    socket.on('data', (data) => {
      answer += data.toString();
      if (answer.includes('}')) resolve(answer);
    });
    socket.on('error', () => resolve(answer));
    socket.on('close', () => resolve(answer));
    send((text) => socket.write(text));
    const received = await promise;
    socket.destroy();
    return received;
  }
  const head = `POST / HTTP/1.1\r\nHost: gateway\r\nContent-Type: ${json}\r\n`;

  test('a chunked body is read', async () => {
    const answer = await answerTo((write) =>
      write(`${head}Transfer-Encoding: chunked\r\n\r\n4\r\n{"a"\r\n4\r\n:12}\r\n0\r\n\r\n`),
    );
    expect(answer).toContain('{"a":12}');
  });

  test('a body with a length is read', async () => {
    expect(await answerTo((write) => write(`${head}Content-Length: 8\r\n\r\n{"a":12}`))).toContain(
      '{"a":12}',
    );
  });

  test('an announced 300 MB is refused before any of it comes', async () => {
    const answer = await answerTo((write) => write(`${head}Content-Length: 300000000\r\n\r\n`));
    expect(answer).toStartWith('HTTP/1.1 400');
    expect(answer).toContain('invalid_request');
  });

  test('a chunked body over the limit is refused while it still comes', async () => {
    const chunk = `100000\r\n${'x'.repeat(0x100000)}\r\n`;
    const answer = await answerTo((write) => {
      write(`${head}Transfer-Encoding: chunked\r\n\r\n`);
      for (let count = 0; count < 22; count++) write(chunk);
    });
    expect(answer).toStartWith('HTTP/1.1 400');
    expect(answer).toContain('invalid_request');
  });
});

describe('what JSON allows and no request needs', () => {
  const nested = (levels: number) => `${'{"a":['.repeat(levels / 2)}${']}'.repeat(levels / 2)}`;
  const rows: readonly (readonly [string, string])[] = [
    ['{"a":"x\\u0000y"}', 'a'],
    ['{"a":[{"b":"\\u0000"}]}', 'a[0].b'],
    ['{"a\\u0000":1}', '["a\\u0000"]'],
    ['{"a":"\\ud800"}', 'a'],
    ['{"a":"x\\udc00"}', 'a'],
    ['{"a":"\\udc00\\ud800"}', 'a'],
    ['{"a":{"\\ud83d":1}}', 'a["\\ud83d"]'],
    ['{"a":1e400}', 'a'],
    ['{"a":[1,-1e400]}', 'a[1]'],
    [`{"a":1${'0'.repeat(400)}}`, 'a'],
    ['{"a":1,"a":1}', 'a'],
    ['{"a":1,"\\u0061":2}', 'a'],
    ['{"a":{"b":[{},{"c":1,"d":2,"c":3}]}}', 'a.b[1].c'],
    ['{"odd key":{"x":1,"x":2}}', '["odd key"].x'],
    ['{"":1,"":2}', '[""]'],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
    ['{"1":1,"1":2}', '["1"]'],
    ['{"a" : 1 ,\n\t"a"\r\n:2}', 'a'],
    ['{"a":[1,"x",[2],{"b":[0,{"k":0,"k":0}]}]}', 'a[3].b[1].k'],
    ['{"a":{"x":1},"a":{}}', 'a'],
  ];
  test.each(rows)('%s names %s', async (body, param) => {
    expect(await codeOf(readJsonBody(post(body)))).toBe(`invalid_parameter ${param}`);
  });

  test('the message says what is wrong in one sentence', async () => {
    const messageOf = async (body: string) => (await refusalOf(readJsonBody(post(body)))).message;
    expect(await messageOf('{"a":"\\u0000"}')).toBe('A string here contains the character U+0000.');
    expect(await messageOf('{"a":"\\ud800"}')).toBe('A string here contains half of a surrogate pair.');
    expect(await messageOf('{"a":1e400}')).toBe('This number is too large to be represented.');
    expect(await messageOf('{"a":1,"a":2}')).toBe('This key appears more than once in its object.');
    expect(await messageOf(nested(66))).toBe('The body is nested deeper than 64 levels.');
  });

  test('the first problem of the document is the one that is named', async () => {
    expect(await codeOf(readJsonBody(post('{"b":["\\u0000"],"a":1e400}')))).toBe('invalid_parameter b[0]');
  });

  test('64 levels pass and 65 do not', () => {
    expect(parseJsonBody(Buffer.from(nested(64)))).toBeObject();
    const refused = nested(64).replace('[]', '[[]]');
    expect(() => parseJsonBody(Buffer.from(refused))).toThrow('deeper than 64');
    expect(() => parseJsonBody(Buffer.from(nested(64).replace('[]', '[1,"a",null]')))).not.toThrow();
  });

  test('a million levels are refused, even where a duplicate hides them', async () => {
    const deep = `${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`;
    const path = `a${'[0]'.repeat(33)}…`;
    expect(await codeOf(readJsonBody(post(`{"a":${deep}}`)))).toBe(`invalid_parameter ${path}`);
    expect(await codeOf(readJsonBody(post(`{"a":${deep},"a":1}`)))).toBe(`invalid_parameter ${path}`);
    const medium = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    expect(await codeOf(readJsonBody(post(`{"a":${medium},"a":1}`)))).toBe('invalid_parameter');
  });

  test.each([
    [0, 10_000],
    [60_000, 10_000],
    [120_000, 20_000],
    [540_000, 90_000],
    [600_000, 100_000],
    [1_000_000, 100_000],
  ])('a body of %d characters may hold %d values', async (size, limit) => {
    const padded = (text: string) => text + ' '.repeat(Math.max(0, size - text.length));
    const listOf = (count: number) => padded(`{"a":[${'0,'.repeat(count)}0]}`);
    // The brace, the colon and the bracket count too.
    expect(await readJsonBody(post(listOf(limit - 3)))).toBeObject();
    const message = `The body holds more than ${limit} values, the limit for its size.`;
    expect((await refusalOf(readJsonBody(post(listOf(limit - 2))))).message).toBe(message);
    const lists = padded(`{"a":[${'[],'.repeat(limit / 2)}0]}`);
    expect((await refusalOf(readJsonBody(post(lists)))).message).toBe(message);
  });

  test.each([0, 600_000])('too many keys of large objects are refused, after %d bytes too', async (size) => {
    const objectOf = (count: number) =>
      `{${Array.from({ length: count }, (_, index) => `"k${index}":0`).join()}}`;
    const padding = ' '.repeat(size);
    const bodyOf = (count: number) =>
      `${padding}{"a":[${objectOf(64)},${objectOf(count)}],"b":${objectOf(364)}}`;
    expect(await readJsonBody(post(bodyOf(764)))).toBeObject();
    const { code, message } = await refusalOf(readJsonBody(post(bodyOf(765))));
    expect([code, message]).toEqual([
      'invalid_parameter',
      'The body has more than 1000 keys beyond the first 64 of each object.',
    ]);
    expect(await readJsonBody(post(padding + objectOf(1_064)))).toBeObject();
    expect(await codeOf(readJsonBody(post(padding + objectOf(1_065))))).toBe('invalid_parameter');
    const many = Array.from({ length: 60 }, () => objectOf(64)).join();
    expect(await readJsonBody(post(`${padding}{"a":[${many}]}`))).toBeObject();
  });

  test('a large body is refused for the same reasons as a small one', async () => {
    const padding = ' '.repeat(600_000);
    for (const [body, param] of rows)
      expect(await codeOf(readJsonBody(post(padding + body)))).toBe(`invalid_parameter ${param}`);
    expect(await codeOf(readJsonBody(post(`${padding}{"a":1`)))).toBe('invalid_json');
    expect(await codeOf(readJsonBody(post(`${padding}[]`)))).toBe('invalid_request');
    const badBytes = [
      bytes(padding, 0x80),
      bytes(padding, '{"a":"', 0x80, '"}'),
      bytes(padding, '{}', 0xf0, 0x9f),
    ];
    for (const body of badBytes) {
      const { code, message } = await refusalOf(readJsonBody(post(body)));
      expect([code, message]).toEqual(['invalid_json', 'The request body is not valid UTF-8.']);
    }
    expect(await codeOf(readJsonBody(post(`${padding}{"a":0.${'1'.repeat(2_000)}}`)))).toBe(
      'invalid_parameter a',
    );
    // A character of four bytes on the border between two pieces.
    const split = bytes('{"a":"', 'x'.repeat(1_048_574 - 6), '😀"}');
    expect(Object(await readJsonBody(post(split))).a).toEndWith('x😀');
  });

  test('__proto__ is a key like any other', async () => {
    const body = Object(await readJsonBody(post('{"__proto__":{"isAdmin":true},"a":{"__proto__":null}}')));
    expect(Object.keys(body)).toEqual(['__proto__', 'a']);
    expect(Object.getPrototypeOf(body)).toBe(Object.prototype);
    expect(body.isAdmin).toBeUndefined();
    expect('isAdmin' in {}).toBe(false);
  });

  const harmless = [
    '{"a":"\\u0001\\u00e9\\ud83d\\ude00","b":"\\\\u0000","c":"a:\\"b\\":"}',
    '{"a":"\\\\","b":"\\\\\\"","c":"\\"\\\\"}',
    '{"a":{"x":1},"b":{"x":1},"c":[{"x":1},{"x":1}],"A":0}',
    '{"a":1e308,"b":-0,"c":1E-400,"d":0.1}',
    '{}',
    ' {"é" : "é\u2028" } ',
  ];
  test.each(harmless)('%s passes as JSON.parse reads it', async (text) => {
    expect(await readJsonBody(post(text))).toEqual(JSON.parse(text));
  });
});

test('a client that leaves while its large body waits to be parsed is told apart from other failures', async () => {
  const body = `${' '.repeat(600_000)}{}`;
  const leaving = new AbortController();
  const request = new Request('http://gateway/', {
    method: 'POST',
    body,
    headers: { 'content-type': json },
    signal: leaving.signal,
  });
  const ahead = Array.from({ length: 20 }, () => readJsonBody(post(body)));
  const reading = refusalOf(readJsonBody(request));
  await ahead[0];
  leaving.abort();
  const { code, message } = await reading;
  expect([code, message]).toEqual(['invalid_request', 'The client left.']);
  expect(await Promise.all(ahead)).toHaveLength(20);
});

test('others get their turn while a large body is decoded', async () => {
  let turns = 0;
  let isDone = false;
  const others = (async () => {
    while (!isDone) {
      await new Promise((resolve) => setImmediate(resolve));
      turns += 1;
    }
  })();
  // None of it is parsed, because its last byte is not a valid character.
  const code = await codeOf(readJsonBody(post(bytes(' '.repeat(10_000_000), 0x80))));
  const turnsMeanwhile = turns;
  isDone = true;
  await others;
  expect(code).toBe('invalid_json');
  expect(turnsMeanwhile).toBeGreaterThan(3);
});
