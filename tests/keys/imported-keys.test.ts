/** Keys of another form than ours: when they are looked up, and when they cost the database nothing. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ApiError } from '../../src/errors.ts';
import { RequestContext } from '../../src/http/context.ts';
import { authenticateWith } from '../../src/keys/authenticate.ts';
import { ImportWatch } from '../../src/keys/import-watch.ts';
import type { KeyCache } from '../../src/keys/key-cache.ts';
import { generateKey, isImportable, isKeyLike } from '../../src/keys/key-format.ts';

describe('authentication', () => {
  /** The code of the refusal, and how many keys were looked up. */
  async function arrive(key: string, hasImported: boolean) {
    let lookups = 0;
    const cache = {
      known: () => null,
      find: async () => {
        lookups += 1;
        return null;
      },
      hasImportedKeys: () => hasImported,
    } as unknown as KeyCache;
    const request = new Request('http://gateway/', { headers: { 'x-api-key': key } });
    const context = new RequestContext(request, { timeout: () => undefined, requestIP: () => null }, []);
    const code = await (async () =>
      authenticateWith(cache)(request, context, 'api_keys_lookup_failed'))().then(
      () => null,
      (error: unknown) => (error instanceof ApiError ? error.code : String(error)),
    );
    return { code, lookups };
  }

  const strange = ['sk-0123456789', 'q7'.repeat(24), 'x'.repeat(256)];
  const impossible = [
    'sk-1',
    'x'.repeat(257),
    'sk-0123 456789',
    'sk-0123,456789',
    'sk-schlüssel',
    `svc_sk_${'0'.repeat(46)}`,
  ];

  test.each([...strange, ...impossible])('without imports, %p is refused without a lookup', async (key) => {
    expect(await arrive(key, false)).toEqual({ code: 'invalid_api_key', lookups: 0 });
  });

  test.each(strange)('with imports, %p is looked up', async (key) => {
    expect(await arrive(key, true)).toEqual({ code: 'invalid_api_key', lookups: 1 });
  });

  test.each(impossible)('with imports, %p is still refused without a lookup', async (key) => {
    expect(await arrive(key, true)).toEqual({ code: 'invalid_api_key', lookups: 0 });
  });

  test('our own keys are looked up either way, and never count as imported ones', async () => {
    const key = generateKey();
    expect([
      (await arrive(key, false)).lookups,
      (await arrive(key, true)).lookups,
      isImportable(key),
    ]).toEqual([1, 1, false]);
    expect(['svc_sk_x', 'sk-x', '0189'].map(isKeyLike)).toEqual([true, true, false]);
  });
});

describe('whether there are imported keys', () => {
  function watching() {
    const database = { answer: false, isAway: false, questions: 0 };
    const clock = { nowMs: 0 };
    const ask = async () => {
      database.questions += 1;
      const { answer, isAway } = database;
      await Promise.resolve();
      if (isAway) throw new Error('away');
      return answer;
    };
    return { database, clock, watch: new ImportWatch(ask, () => clock.nowMs) };
  }

  test('is asked once, however many strange keys arrive, and again after a while', async () => {
    const { database, clock, watch } = watching();
    await watch.read();
    for (let count = 0; count < 1_000; count += 1) expect(watch.found()).toBe(false);
    expect(database.questions).toBe(1);
    clock.nowMs = 5_000;
    for (let count = 0; count < 1_000; count += 1) watch.found();
    expect(database.questions).toBe(2);
  });

  test('is asked when a key was announced, also while it is being asked, and never again after the first one', async () => {
    const { database, watch } = watching();
    await watch.read();
    const reading = watch.read();
    // The question under way was sent before the change.
    database.answer = true;
    watch.note();
    await reading;
    expect([watch.found(), database.questions]).toEqual([true, 3]);
    await watch.read();
    expect(database.questions).toBe(3);
  });

  test('stays as it was while the database is away', async () => {
    const { database, clock, watch } = watching();
    database.isAway = true;
    await watch.read();
    expect(watch.found()).toBe(false);
    database.isAway = false;
    database.answer = true;
    clock.nowMs = 5_000;
    expect(watch.found()).toBe(false);
    await watch.read();
    expect(watch.found()).toBe(true);
    database.isAway = true;
    await watch.read();
    expect(watch.found()).toBe(true);
  });
});

test('whatever is importable fits into a header, and has no spaces or commas', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      if (!isImportable(text)) return;
      expect(/^[!-~]+$/.test(text) && !text.includes(',')).toBe(true);
      expect(new Headers({ 'x-api-key': text }).get('x-api-key')).toBe(text);
    }),
  );
});
