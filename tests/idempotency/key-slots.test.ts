/** The slots of a key are limited, returned once, and not shared with other keys. */
import { expect, test } from 'bun:test';
import { ApiError } from '../../src/errors.ts';
import { KeySlots } from '../../src/idempotency/key-slots.ts';

test('a key has only so many slots at a time, and takes none of another', () => {
  const slots = new KeySlots(2);
  const [leave] = [slots.take('one'), slots.take('one')];
  expect(() => slots.take('one')).toThrow(ApiError);
  slots.take('other');
  leave();
  slots.take('one');
  expect(() => slots.take('one')).toThrow('Too many requests');
});
