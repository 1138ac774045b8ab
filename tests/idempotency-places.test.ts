/** Places of a key are limited, given back once, and nobody else's. */
import { expect, test } from 'bun:test';
import { ApiError } from '../src/errors.ts';
import { Places } from '../src/idempotency/places.ts';

test('a key has only so many places at a time, and takes none of another', () => {
  const places = new Places(2);
  const [leave] = [places.take('one'), places.take('one')];
  expect(() => places.take('one')).toThrow(ApiError);
  places.take('other');
  leave();
  places.take('one');
  expect(() => places.take('one')).toThrow('Too many requests');
});
