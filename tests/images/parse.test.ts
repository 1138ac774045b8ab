/** What a request for images may contain, what a model offers, and how failures are reported. All of it pure. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ApiError, type ErrorCode, errorTable } from '../../src/errors.ts';
import { type ImageMaker, orderOf } from '../../src/images/order.ts';
import { parseImages } from '../../src/images/parse.ts';
import { imageFailure } from '../../src/images/workload.ts';
import { Calls } from '../../src/providers/call.ts';
import { chatAdapters } from '../../src/providers/chat-call.ts';
import { googleImages } from '../../src/providers/google-images.ts';
import type { ImageAdapter } from '../../src/providers/images.ts';
import { openaiImages } from '../../src/providers/openai-images.ts';
import { codeOfStatus } from '../../src/providers/transport.ts';
import { ProviderError, withStatus } from '../../src/providers/upstream.ts';
import { connectProviders } from '../../src/routing/connections.ts';
import { Gates } from '../../src/routing/gates.ts';
import { type Fields, refusalOf, without } from '../support/chat-bodies.ts';
import { testProvider } from '../support/provider.ts';

const basic = { model: 'm', prompt: 'A gate' };
const plus = (fields: Fields): Fields => ({ ...basic, ...fields });

describe('what is accepted', () => {
  test('a model and a prompt are enough: one image, of a size that the model chooses', () => {
    expect(parseImages(basic)).toEqual({ model: 'm', prompt: 'A gate', size: null, count: 1 });
  });

  test('everything', () => {
    const body = plus({ size: '1024x1024', n: 4, response_format: 'url' });
    expect(parseImages(body)).toEqual({ model: 'm', prompt: 'A gate', size: '1024x1024', count: 4 });
  });
});

type Row = readonly [code: ErrorCode, param: string | undefined, body: unknown];

/** Fields that vendors have and the contract does not, whatever their value. */
const foreign =
  'quality style user background moderation output_format output_compression stream partial_images seed N Size'.split(
    ' ',
  );

const rows: readonly Row[] = [
  ...[5, 'text', null, [], [basic], undefined].map((body): Row => ['invalid_request', undefined, body]),
  ['missing_required_parameter', 'model', {}],
  ['missing_required_parameter', 'model', without(basic, 'model')],
  ['missing_required_parameter', 'prompt', without(basic, 'prompt')],
  ...['', 5, null, ['m'], {}].map((model): Row => ['invalid_parameter', 'model', plus({ model })]),
  ...['', 5, null, ['A gate'], {}, true].map(
    (prompt): Row => ['invalid_parameter', 'prompt', plus({ prompt })],
  ),
  ...[0, 5, -1, 1.5, '1', '', null, true, [], [1], {}, 2 ** 53, 1e308].map(
    (n): Row => ['invalid_n', 'n', plus({ n })],
  ),
  ...[1024, null, true, ['1024x1024'], { width: 1024 }].map(
    (size): Row => ['invalid_size', 'size', plus({ size })],
  ),
  ...['', 'URL', 'png', 'json', null, 5, {}, ['url'], ['b64_json'], { type: 'b64_json' }].map(
    (format): Row => ['invalid_response_format', 'response_format', plus({ response_format: format })],
  ),
  ['unsupported_parameter', 'response_format', plus({ response_format: 'b64_json' })],
  ...foreign.flatMap((name) =>
    [1, null, 'auto'].map((value): Row => ['unsupported_parameter', name, plus({ [name]: value })]),
  ),
  ['unsupported_parameter', 'messages', { model: 'm', messages: [] }],
  ['unsupported_parameter', '["odd key"]', plus({ 'odd key': 1 })],
  ['unsupported_parameter', 'constructor', plus({ constructor: 1 })],
  ['unsupported_parameter', '__proto__', JSON.parse('{"model":"m","prompt":"x","__proto__":{"n":2}}')],
  // An unknown field comes before whatever else is wrong; then the order of the body decides.
  ['unsupported_parameter', 'quality', { n: 9, model: 5, quality: 'hd' }],
  ['invalid_n', 'n', { n: 9, size: 5, ...basic }],
  ['invalid_size', 'size', { size: 5, n: 9, ...basic }],
  ['invalid_n', 'n', { n: 9 }],
];

describe('what is refused', () => {
  const named = rows.map(([code, param, body]) => [code, param, JSON.stringify(body) ?? '', body] as const);
  test.each(named)('%s %s: %s', (code, param, _, body) => {
    const refusal = refusalOf(() => parseImages(body));
    expect({ code: refusal.code, param: refusal.param }).toEqual({ code, param });
    expect(refusal.message).not.toBe('');
    expect(refusal.message.length).toBeLessThan(400);
  });

  test('b64_json is told what to use instead', () => {
    const refusal = refusalOf(() => parseImages(plus({ response_format: 'b64_json' })));
    expect(refusal.message).toBe('The response_format "b64_json" is not supported: use "url".');
  });

  test('any other n, size or response_format has its own code, and never another', () => {
    const own = [
      ['n', 'invalid_n', (value: unknown) => [1, 2, 3, 4].includes(value as number)],
      ['size', 'invalid_size', (value: unknown) => typeof value === 'string'],
      ['response_format', 'invalid_response_format', (value: unknown) => value === 'url'],
    ] as const;
    fc.assert(
      fc.property(fc.constantFrom(...own), fc.jsonValue(), ([param, code, isGood], value) => {
        const parse = () => parseImages(plus({ [param]: value }));
        if (isGood(value)) return parse().model === 'm';
        const refusal = refusalOf(parse);
        return refusal.param === param && refusal.code === code;
      }),
    );
  });

  test('whatever the body is, it is understood or refused with status 400', () => {
    const field = fc.constantFrom('model', 'prompt', 'size', 'n', 'response_format', 'quality', '__proto__');
    const value = fc.oneof(fc.constantFrom<unknown>('m', 1, 'url', '1024x1024'), fc.jsonValue());
    fc.assert(
      fc.property(fc.oneof(fc.dictionary(field, value), fc.jsonValue()), (body) => {
        try {
          const { count } = parseImages(body);
          return Number.isInteger(count) && count >= 1 && count <= 4;
        } catch (thrown) {
          return thrown instanceof ApiError && errorTable[thrown.code].status === 400;
        }
      }),
    );
  });
});

function maker(images: ImageAdapter): ImageMaker {
  const provider = testProvider();
  const surroundings = { secret: () => null, isProxied: false, calls: new Calls() };
  const catalog = {
    priceVersion: '1',
    priceGroups: new Map(),
    providers: new Map([['p', provider]]),
    models: new Map(),
    digest: '',
  };
  const connection = connectProviders(catalog, surroundings, null).get('p');
  if (connection === undefined) throw new Error('It needs no key.');
  return {
    connection: { ...connection, images },
    chat: chatAdapters.openai,
    upstreamModel: 'm',
    weight: null,
    cost: null,
    gate: new Gates().at(provider, 'm'),
    marksCache: false,
    reasoning: null,
    takesVerbosity: false,
  };
}

const openai = maker(openaiImages);
const google = maker(googleImages);
const model = {
  sizes: new Map([
    ['1024x1024', '1k'],
    ['2048x2048', '2k'],
    ['896x1280', null],
  ]),
  maxImages: 3,
};
const wanted = { model: 'm', prompt: 'A gate', size: null, count: 1 };

describe('what the model offers', () => {
  test('without a size it is the first one of the catalogue', () => {
    expect(orderOf(wanted, model, [openai])).toEqual({
      call: { prompt: 'A gate', size: '1024x1024', count: 1 },
      tier: '1k',
      makers: [openai],
    });
  });

  test('each size has its tier, and a size without one the plain price', () => {
    const tiers = ['1024x1024', '2048x2048', '896x1280'].map(
      (size) => orderOf({ ...wanted, size }, model, [openai]).tier,
    );
    expect(tiers).toEqual(['1k', '2k', null]);
  });

  test('a provider that cannot make the size is left out', () => {
    expect(orderOf({ ...wanted, size: '2048x2048' }, model, [google, openai]).makers).toEqual([openai]);
    expect(orderOf({ ...wanted, size: '896x1280' }, model, [google, openai]).makers).toEqual([
      google,
      openai,
    ]);
  });

  test.each(['', 'large', '1024', '1024X1024', '1024x1024 ', '01024x1024', '1536x1024', '__proto__', 'auto'])(
    'invalid_size for %j, and which sizes there are',
    (size) => {
      const refusal = refusalOf(() => orderOf({ ...wanted, size }, model, [openai]));
      expect(refusal).toMatchObject({
        code: 'invalid_size',
        param: 'size',
        message: 'The parameter size is invalid: this model offers 1024x1024, 2048x2048, 896x1280.',
      });
    },
  );

  test('invalid_size for one that none of the providers makes; it is not listed either', () => {
    for (const size of ['2048x2048', '1536x1024'])
      expect(refusalOf(() => orderOf({ ...wanted, size }, model, [google]))).toMatchObject({
        code: 'invalid_size',
        param: 'size',
        message: 'The parameter size is invalid: this model offers 1024x1024, 896x1280.',
      });
    const hopeless = { ...model, sizes: new Map([['3x3', null]]) };
    expect(refusalOf(() => orderOf(wanted, hopeless, [google]))).toMatchObject({
      code: 'invalid_size',
      message: 'The parameter size is invalid: this model offers no size.',
    });
  });

  test('unsupported_parameter for anything else that no provider supports', () => {
    const refusal = { param: 'prompt', message: 'This model takes short prompts only.' };
    const terse = maker({ ...openaiImages, unsupported: () => refusal });
    expect(refusalOf(() => orderOf(wanted, model, [terse]))).toMatchObject({
      code: 'unsupported_parameter',
      ...refusal,
    });
  });

  test('invalid_n for more than it makes at once', () => {
    expect(orderOf({ ...wanted, count: 3 }, model, [openai]).call.count).toBe(3);
    expect(refusalOf(() => orderOf({ ...wanted, count: 4 }, model, [openai]))).toMatchObject({
      code: 'invalid_n',
      param: 'n',
      message: 'The parameter n is invalid: this model makes at most 3 at once.',
    });
  });
});

describe('how a failure is reported', () => {
  const told = (code: ErrorCode, status: number | null) =>
    imageFailure(new ProviderError(code, { upstreamStatus: status })).code;

  test.each([
    ['provider_unavailable', null, 'provider_error'],
    ['provider_unavailable', 200, 'provider_error'],
    ['provider_unknown_error', null, 'provider_error'],
    ['provider_unknown_error', 200, 'provider_error'],
    ['provider_unknown_error', 302, 'provider_error'],
    ['provider_error', 200, 'provider_error'],
    ['provider_unavailable', 500, 'provider_unavailable'],
    ['provider_timeout', null, 'provider_timeout'],
    ['provider_timeout', 200, 'provider_timeout'],
  ] as const)('%s with status %p is %s', (code, status, expected) => {
    expect(told(code, status)).toBe(expected);
  });

  test('under another code or status it keeps the rest of what is known', () => {
    const details = {
      retryAfterSeconds: 5,
      isProvoked: true,
      isUnreached: true,
      reason: 'ENOTFOUND',
      setback: 'key',
    } as const;
    const problem = new ProviderError('provider_unavailable', details);
    expect(imageFailure(problem)).toMatchObject({ code: 'provider_error', ...details });
    expect(withStatus(problem, 200)).toMatchObject({
      code: 'provider_unavailable',
      upstreamStatus: 200,
      ...details,
    });
  });

  test('a status that means a failure keeps its code, and the time to wait stays', () => {
    fc.assert(
      fc.property(fc.integer({ min: 400, max: 599 }), fc.nat(), (status, seconds) => {
        const code = codeOfStatus(status);
        const problem = imageFailure(
          new ProviderError(code, { upstreamStatus: status, retryAfterSeconds: seconds }),
        );
        return (
          problem.code === code && problem.upstreamStatus === status && problem.retryAfterSeconds === seconds
        );
      }),
    );
  });
});
