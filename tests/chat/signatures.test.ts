/** Signatures of reasoning, sealed for the way through a client. */
import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { type SignatureScope, Signatures } from '../../src/chat/signatures.ts';

const signatures = new Signatures(randomBytes(32));
const anyText = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.base64String());
const anySignature = fc.record({ value: anyText, madeBy: anyText });
const anyScope: fc.Arbitrary<SignatureScope> = fc.record({ accountId: anyText, model: anyText });
const base64url = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

describe('a sealed signature', () => {
  test('opens to the same signature for whom it was sealed, and to nothing for anyone else', () => {
    fc.assert(
      fc.property(anySignature, anyScope, anyScope, (signature, scope, other) => {
        const sealed = signatures.seal(signature, scope);
        expect(signatures.open(sealed, scope)).toEqual(signature);
        expect(signatures.open(sealed, { ...scope })).toEqual(signature);
        const isSame = other.accountId === scope.accountId && other.model === scope.model;
        expect(signatures.open(sealed, other)).toEqual(isSame ? signature : null);
        expect(signatures.open(sealed, { ...scope, model: `${scope.model}x` })).toBeNull();
        expect(signatures.open(sealed, { ...scope, accountId: `${scope.accountId}x` })).toBeNull();
        // What is in one name must not count as part of the other.
        const swapped = { accountId: scope.model, model: scope.accountId };
        if (scope.accountId !== scope.model) expect(signatures.open(sealed, swapped)).toBeNull();
      }),
    );
  });

  test('does not open with another key', () => {
    const scope = { accountId: 'a', model: 'm' };
    const sealed = signatures.seal({ value: 'v', madeBy: 'p/m' }, scope);
    expect(new Signatures(randomBytes(32)).open(sealed, scope)).toBeNull();
  });

  test('says nothing about what is in it, not even whether it is the same again', () => {
    const scope = { accountId: 'account-canary', model: 'model-canary' };
    const seal = () => signatures.seal({ value: 'value-canary', madeBy: 'maker-canary' }, scope);
    expect(seal()).not.toBe(seal());
    const sealed = seal();
    const plain = sealed + Buffer.from(sealed.slice('tg1_'.length), 'base64url').toString('latin1');
    expect(plain).not.toContain('canary');
    expect(sealed).toMatch(/^tg1_[A-Za-z0-9_-]+$/);
  });

  test('is nothing once any of its characters is another, missing or too many', () => {
    fc.assert(
      fc.property(
        anySignature,
        anyScope,
        fc.nat(),
        fc.constantFrom(...base64url, '=', ' ', '\n', '+', '/', 'é', '\0'),
        fc.constantFrom('replace', 'remove', 'insert', 'cut'),
        (signature, scope, at, character, kind) => {
          const sealed = signatures.seal(signature, scope);
          const place = at % (sealed.length + (kind === 'insert' ? 1 : 0));
          const changed =
            kind === 'cut'
              ? sealed.slice(0, place)
              : sealed.slice(0, place) +
                (kind === 'remove' ? '' : character) +
                sealed.slice(place + (kind === 'insert' ? 0 : 1));
          fc.pre(changed !== sealed);
          expect(signatures.open(changed, scope)).toBeNull();
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test('is nothing in any other spelling of the same bytes', () => {
    const scope = { accountId: 'a', model: 'm' };
    // Of each length, because only some leave bits of the last character unused.
    for (const value of ['', 'x', 'xx', 'xxx']) {
      const sealed = signatures.seal({ value, madeBy: 'p' }, scope);
      expect(signatures.open(sealed, scope)).toEqual({ value, madeBy: 'p' });
      for (const last of base64url)
        if (!sealed.endsWith(last)) expect(signatures.open(sealed.slice(0, -1) + last, scope)).toBeNull();
      for (const tail of ['=', '==', ' ', '\n', 'A'])
        expect(signatures.open(sealed + tail, scope)).toBeNull();
    }
  });
});

describe('what was not sealed here', () => {
  const scope = { accountId: 'a', model: 'm' };

  test('is nothing, and never an error', () => {
    const foreign = fc.oneof(
      anyText,
      anyText.map((text) => `tg1_${text}`),
      fc.uint8Array({ maxLength: 200 }).map((bytes) => `tg1_${Buffer.from(bytes).toString('base64url')}`),
    );
    fc.assert(
      fc.property(foreign, anyScope, (sealed, anyone) => {
        expect(signatures.open(sealed, anyone)).toBeNull();
      }),
      { numRuns: 1_000 },
    );
  });

  test.each([
    ['nothing at all', ''],
    ['a prefix alone', 'tg1_'],
    ['a nonce and a tag around nothing', `tg1_${'A'.repeat(38)}`],
    ["a vendor's own", 'EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds'],
    ['another prefix', signatures.seal({ value: 'v', madeBy: 'p' }, scope).replace('tg1_', 'tg2_')],
  ])('such as %s', (_name, sealed) => {
    expect(signatures.open(sealed, scope)).toBeNull();
  });

  test('is not even looked at when it is longer than any signature', () => {
    expect(signatures.open(`tg1_${'A'.repeat(20_000_000)}`, scope)).toBeNull();
    const value = 'x'.repeat(700_000);
    expect(signatures.open(signatures.seal({ value, madeBy: 'p' }, scope), scope)).toEqual({
      value,
      madeBy: 'p',
    });
    const long = signatures.seal({ value: 'x'.repeat(800_000), madeBy: 'p' }, scope);
    expect(long.length).toBeGreaterThan(1_000_000);
    expect(signatures.open(long, scope)).toBeNull();
  });
});

test('a request with very many signatures, or very long ones, takes little time', () => {
  const own = new Signatures(Buffer.alloc(32, 7));
  const to = { accountId: 'a', model: 'm' };
  const count = (sealed: readonly string[]) => {
    const { open } = own.openerFor(to);
    return sealed.filter((one) => open(one) !== null).length;
  };
  const made = (length: number, size: number) =>
    Array.from({ length }, (_, index) => own.seal({ value: `${index}`.padEnd(size), madeBy: 'p' }, to));
  expect(count(made(4_000, 10))).toBe(4_000);
  expect(count(made(5_000, 10))).toBe(4_000);
  expect(count(made(20, 600_000))).toBe(9);
  const [same = ''] = made(1, 10);
  expect(count(Array.from({ length: 10_000 }, () => same))).toBe(10_000);
});
