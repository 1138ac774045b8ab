/** Which files the arguments of `npm test` select. */
import { expect, test } from 'bun:test';
import { selectionOf } from '../../scripts/test-selection.ts';

const files = [
  'tests/api/chat-billing.test.ts',
  'tests/api/chat.test.ts',
  'tests/api/keys.test.ts',
  'tests/chat/bounds.test.ts',
  'tests/keys/keys.test.ts',
  'tests/tidy.test.ts',
];

const selected = (...words: string[]) => {
  const selection = selectionOf(words, files);
  return 'unknown' in selection ? selection : selection.files;
};

test('without a name they select everything, whatever the options are', () => {
  expect(selectionOf([], files)).toEqual({ files: null, options: [] });
  expect(selectionOf(['--update-timings', '--bail=1'], files)).toEqual({
    files: null,
    options: ['--update-timings', '--bail=1'],
  });
});

test.each(['chat', 'chat/', 'tests/chat', './tests/chat/'])('%p is a room, and no name of files', (name) => {
  expect(selected(name)).toEqual(['tests/chat/bounds.test.ts']);
});

test('several names select the files of all of them, each once', () => {
  expect(selected('keys', 'chat', 'keys/keys')).toEqual([
    'tests/keys/keys.test.ts',
    'tests/chat/bounds.test.ts',
  ]);
});

test.each([
  ['tidy', ['tests/tidy.test.ts']],
  ['api/chat', ['tests/api/chat-billing.test.ts', 'tests/api/chat.test.ts']],
  ['./tests/api/chat.test.ts', ['tests/api/chat.test.ts']],
  ['keys.test', ['tests/api/keys.test.ts', 'tests/keys/keys.test.ts']],
])('%p is no room, and stands for the files whose path has it', (name, expected) => {
  expect(selected(name)).toEqual(expected);
});

test('an unknown name comes with the existing folders', () => {
  expect(selected('chat', 'hats')).toEqual({ unknown: 'hats', rooms: ['api', 'chat', 'keys'] });
});

test('the value of an option is not a name', () => {
  expect(selectionOf(['-t', 'keys', 'chat', '--seed', '7'], files)).toEqual({
    files: ['tests/chat/bounds.test.ts'],
    options: ['-t', 'keys', '--seed', '7'],
  });
});
