import { expect, test } from 'bun:test';
import { OneAtATime } from '../../src/lib/one-at-a-time.ts';

test('starts at once what nothing else is in the way of, and the rest in order, whatever became of the one before', async () => {
  const begun: string[] = [];
  const works = new OneAtATime();
  const run = (id: string, name: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const result = works.run(id, () => {
      begun.push(name);
      return promise;
    });
    return { result, resolve: () => resolve(name), reject: () => reject(new Error(name)) };
  };
  const [first, second, third, other] = [run('a', '1'), run('a', '2'), run('a', '3'), run('b', '4')];
  expect(begun).toEqual(['1', '4']);
  first.reject();
  expect(await first.result.catch(String)).toBe('Error: 1');
  await Promise.resolve();
  expect(begun).toEqual(['1', '4', '2']);
  second.resolve();
  third.resolve();
  other.resolve();
  expect(await Promise.all([second.result, third.result, other.result])).toEqual(['2', '3', '4']);
  run('a', '5');
  expect(begun.at(-1)).toBe('5');
});
