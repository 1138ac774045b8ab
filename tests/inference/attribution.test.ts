/** Whom a request is for, as its headers say, and what a provider is told of it. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ApiError } from '../../src/errors.ts';
import { identifyWith, readAttribution } from '../../src/inference/attribution.ts';
import type { Attribution } from '../../src/ledger/operations.ts';
import { isLabel, maxTags, readTag, tagOf } from '../../src/lib/labels.ts';

/** Values as they arrive: one character for each byte. */
const read = (headers: Record<string, string>, own: Attribution | null = null) =>
  readAttribution(
    new Headers(
      Object.entries(headers).map(([name, value]): [string, string] => [
        name,
        Buffer.from(value).toString('latin1'),
      ]),
    ),
    own,
  );

function paramOf(run: () => unknown): string | undefined {
  try {
    run();
  } catch (error) {
    if (error instanceof ApiError && error.code === 'invalid_parameter') return error.param;
    throw error;
  }
  return 'no error';
}

const own: Attribution = {
  endUser: 'body',
  session: 's1',
  tags: [
    ['team', 'body'],
    ['env', 'prod'],
  ],
};

describe('the headers', () => {
  test('name an end user and tags', () => {
    expect(read({ 'x-end-user': 'Zoë 😀', 'x-tags': 'team=search, path = a=b ,env=prod' })).toEqual({
      endUser: 'Zoë 😀',
      session: null,
      tags: [
        ['team', 'search'],
        ['path', 'a=b'],
        ['env', 'prod'],
      ],
    });
  });

  test('override what the body says, each by itself', () => {
    expect(read({}, own)).toBe(own);
    expect(read({ 'x-end-user': 'header' }, own)).toEqual({ ...own, endUser: 'header' });
    expect(read({ 'x-tags': 'team=header' }, own)).toEqual({
      ...own,
      tags: [
        ['team', 'header'],
        ['env', 'prod'],
      ],
    });
  });

  test('that are missing or empty say nothing', () => {
    expect(read({})).toBeNull();
    expect(read({ 'x-end-user': '', 'x-tags': '' })).toBeNull();
  });

  const tooMany = Array.from({ length: maxTags + 1 }, (_, index) => `n${index}=v`);
  test.each([
    ['x-end-user', 'x'.repeat(257)],
    ['x-end-user', 'a\tb'],
    ['x-end-user', 'right\u202eto left'],
    ['x-tags', 'team'],
    ['x-tags', 'team='],
    ['x-tags', '=search'],
    ['x-tags', 'a=b,'],
    ['x-tags', ','],
    ['x-tags', 'a=b,a=c'],
    ['x-tags', `${'n'.repeat(65)}=v`],
    ['x-tags', `n=${'v'.repeat(257)}`],
    ['x-tags', tooMany.join(',')],
  ])('%s cannot be %j', (name, value) => {
    expect(paramOf(() => read({ [name]: value }))).toBe(name);
  });

  test('have to be UTF-8', () => {
    const headers = new Headers({ 'x-end-user': 'Zo\xeb' });
    expect(paramOf(() => readAttribution(headers, null))).toBe('x-end-user');
  });

  test('never more than the limits, whatever they and the body say', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 300 });
    fc.assert(
      fc.property(text, text, fc.array(fc.tuple(text, text), { maxLength: 20 }), (endUser, tags, pairs) => {
        const bodyTags = pairs.flatMap(([name, value]) => {
          const tag = tagOf(name, value);
          return tag === null ? [] : [tag];
        });
        const body = { endUser: null, session: null, tags: [...new Map(bodyTags)].slice(0, maxTags) };
        let found: Attribution | null = null;
        try {
          found = read({ 'x-end-user': endUser.trim(), 'x-tags': tags.trim() }, body);
        } catch (error) {
          if (!(error instanceof ApiError || error instanceof TypeError)) throw error;
        }
        if (found === null) return;
        expect(found.endUser === null || isLabel(found.endUser, 256)).toBe(true);
        expect(found.tags.length).toBeLessThanOrEqual(maxTags);
        expect(new Set(found.tags.map(([name]) => name)).size).toBe(found.tags.length);
        // What is stored as one text can be taken apart again.
        for (const tag of found.tags) expect(readTag(tag.join('='))).toEqual(tag);
      }),
    );
  });

  test('any pair that fits comes back as it was', () => {
    const word = (max: number) =>
      fc
        .string({ unit: 'grapheme', minLength: 1, maxLength: max })
        .map((text) => text.trim())
        .filter((text) => isLabel(text, max) && !text.includes(','));
    fc.assert(
      fc.property(
        word(64).filter((name) => !name.includes('=')),
        word(256),
        (name, value) => {
          expect(read({ 'x-tags': `${name}=${value}` })?.tags).toEqual([[name, value]]);
        },
      ),
    );
  });
});

describe('a provider', () => {
  const identify = identifyWith(Buffer.alloc(32, 1));
  const of = (accountId: string, endUser: string | null) =>
    identify({ accountId, attribution: { endUser, session: null, tags: [] } });

  test('is told the same for the same end user of the same account, and nothing else', () => {
    expect(of('a', 'alice')).toBe(of('a', 'alice'));
    const ids = [of('a', 'alice'), of('a', 'bob'), of('b', 'alice'), of('a', null), of('b', null)];
    expect(new Set(ids).size).toBe(ids.length);
    expect(identify({ accountId: 'a', attribution: null })).toBe(of('a', null));
    expect(identifyWith(Buffer.alloc(32, 2))({ accountId: 'a' })).not.toBe(of('a', null));
    // OpenAI takes 64 characters.
    for (const id of ids) expect(id).toMatch(/^[\w-]{43}$/);
  });

  test('cannot confuse an account and an end user', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), fc.string(), (a, b, c, d) => {
        expect(of(a, b) === of(c, d)).toBe(a === c && b === d);
      }),
    );
  });
});
