/** Whom a chat request is for, by what real clients send. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  attributionOfMessages,
  attributionOfResponses,
  attributionOfUser,
} from '../../src/chat/attribution.ts';
import { isLabel, maxTags } from '../../src/lib/labels.ts';

const none = new Headers();
const device = 'f'.repeat(64);
const session = '0b8a5a1e-5f6e-4a7c-9a34-5a2f6c1d2e3f';

describe('Messages', () => {
  test('a user_id is the end user', () => {
    expect(attributionOfMessages('user-123', none)).toEqual({ endUser: 'user-123', session: null, tags: [] });
    expect(attributionOfMessages(null, none)).toBeNull();
  });

  test('Claude Code packs its device, account and session into it', () => {
    const packed = (account: string) =>
      JSON.stringify({ device_id: device, account_uuid: account, session_id: session });
    expect(attributionOfMessages(packed(''), none)).toEqual({ endUser: device, session, tags: [] });
    expect(attributionOfMessages(packed('acc'), none)).toEqual({ endUser: 'acc', session, tags: [] });
    expect(attributionOfMessages(JSON.stringify({ session_id: session }), none)?.endUser).toBeNull();
    const former = `user_${device}_account_acc_session_${session}`;
    expect(attributionOfMessages(former, none)).toEqual({
      endUser: `user_${device}_account_acc`,
      session,
      tags: [],
    });
  });

  test('Claude Code names its session in a header', () => {
    const headers = new Headers({ 'x-claude-code-session-id': 'from-header' });
    expect(attributionOfMessages(null, headers)).toEqual({ endUser: null, session: 'from-header', tags: [] });
    expect(attributionOfMessages(JSON.stringify({ session_id: session }), headers)?.session).toBe(
      'from-header',
    );
  });

  test.each(['{', '{"device_id":1}', '[]', '{"a":{"b":{"c":1}}}', '{"__proto__":{"device_id":"x"}}'])(
    'other JSON is taken as it is: %s',
    (userId) => {
      expect(attributionOfMessages(userId, none)?.endUser).toBe(userId);
    },
  );
});

test('a user_id of megabytes is not searched', () => {
  const long = `user_${'_session_a '.repeat(1_000_000)}`;
  expect(attributionOfMessages(long, none)).toBeNull();
  expect(attributionOfMessages(`{"session_id":"s","x":"${long}"}`, none)).toBeNull();
});

describe('Responses', () => {
  const nothing = { safetyIdentifier: null, user: null, metadata: [], promptCacheKey: null };

  test('say it in several fields', () => {
    expect(attributionOfResponses(nothing, none)).toBeNull();
    expect(
      attributionOfResponses(
        { safetyIdentifier: 'safe', user: 'old', metadata: [['team', 'search']], promptCacheKey: 'thread' },
        none,
      ),
    ).toEqual({ endUser: 'safe', session: 'thread', tags: [['team', 'search']] });
    expect(attributionOfResponses({ ...nothing, user: 'old' }, none)?.endUser).toBe('old');
    expect(attributionOfUser('old')?.endUser).toBe('old');
  });

  test('Codex names its session and thread in headers', () => {
    const headers = new Headers({ 'session-id': 'session', 'thread-id': 'thread' });
    expect(attributionOfResponses({ ...nothing, promptCacheKey: 'thread' }, headers)?.session).toBe(
      'session',
    );
    headers.delete('session-id');
    expect(attributionOfResponses(nothing, headers)?.session).toBe('thread');
  });

  test('what does not fit is left out', () => {
    const metadata = [
      ['a=b', 'v'],
      ['long', 'v'.repeat(512)],
      ['empty', ''],
      ['line', 'a\nb'],
      ...Array.from({ length: 16 }, (_, index) => [`n${index}`, `${index}`]),
    ] as [string, string][];
    const found = attributionOfResponses(
      { ...nothing, safetyIdentifier: 'x'.repeat(300), user: 'old', metadata },
      none,
    );
    expect(found?.endUser).toBe('old');
    expect(found?.tags.map(([name]) => name)).toEqual(Array.from({ length: maxTags }, (_, i) => `n${i}`));
  });
});

test('whatever a client says, it fits', () => {
  const text = fc.option(fc.oneof(fc.string({ unit: 'binary', maxLength: 400 }), fc.json()), { nil: null });
  fc.assert(
    fc.property(
      text,
      text,
      fc.array(fc.tuple(fc.string(), fc.string({ unit: 'binary' }))),
      (one, two, metadata) => {
        const all = [
          attributionOfMessages(one, none),
          attributionOfResponses({ safetyIdentifier: one, user: two, metadata, promptCacheKey: two }, none),
        ];
        for (const found of all) {
          if (found === null) continue;
          for (const label of [found.endUser, found.session])
            expect(label === null || isLabel(label, 256)).toBe(true);
          expect(found.tags.length).toBeLessThanOrEqual(maxTags);
        }
      },
    ),
  );
});
