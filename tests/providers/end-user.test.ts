/** What a provider is told of whom a call is for. */
import { expect, test } from 'bun:test';
import { endUserFields, identified, identityFields } from '../../src/providers/end-user.ts';

test('it is in the field of the format, or nowhere', () => {
  expect(endUserFields.map((field) => identityFields({ field, id: 'hash' }))).toEqual([
    { safety_identifier: 'hash' },
    { user: 'hash' },
    { metadata: { user_id: 'hash' } },
  ]);
  expect([identityFields(null), identityFields(undefined)]).toEqual([{}, {}]);
});

test('a body that is passed on loses what the client says, and keeps the rest', () => {
  const body = JSON.parse(
    '{"model":"m","metadata":{"user_id":"alice"},"user":"alice","safety_identifier":"alice","__proto__":{"a":1},"x":[1]}',
  );
  const told = identified(body, { field: 'metadata.user_id', id: 'hash' });
  expect(JSON.stringify(told)).toBe(
    '{"model":"m","__proto__":{"a":1},"x":[1],"metadata":{"user_id":"hash"}}',
  );
  expect(JSON.stringify(identified(body, null))).toBe('{"model":"m","__proto__":{"a":1},"x":[1]}');
});
