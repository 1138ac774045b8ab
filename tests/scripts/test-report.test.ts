/** What `npm test` reads from the output of the runner, on output that the runner once printed. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  countsIn,
  errorsBetweenTests,
  errorsIn,
  failedFilesOf,
  hasCounterexample,
  outputOf,
  sumOf,
} from '../../scripts/test-report.ts';

const output = `
tests/a.test.ts:
(pass) good [2.42ms]
said before it failed
error: expect(received).toBe(expected)
(fail) bad [22.90ms]

tests/b.test.ts:
(pass) fine [0.10ms]

tests/a.test.ts:
(fail) slow [100.24ms]
  ^ this test timed out after 100ms.

tests/e.test.ts:
✗ tests/e.test.ts (worker crashed: SIGKILL)

# Unhandled error between tests
-------------------------------
error: at load

2 tests failed:
(fail) bad [22.90ms]
(fail) slow [100.24ms]

 2 pass
 3 fail
 1 error
 1 expect() calls
Ran 5 tests across 4 files. [224.00ms]
`;

const junit = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="bun test" tests="6" assertions="1" failures="3" skipped="1" time="0.2">
  <testsuite name="tests/a.test.ts" file="tests/a.test.ts" tests="3" assertions="1" failures="2" skipped="0" time="0.1">
    <testsuite name="200" file="tests/a.test.ts" line="1" tests="1" assertions="1" failures="1" skipped="0" time="0.1">
      <testcase name="bad" classname="200" file="tests/a.test.ts" line="1"><failure type="AssertionError" /></testcase>
    </testsuite>
  </testsuite>
  <testsuite name="tests/b.test.ts" file="tests/b.test.ts" tests="2" assertions="0" failures="0" skipped="1" time="0.1">
  </testsuite>
  <testsuite name="tests/e.test.ts" file="tests/e.test.ts" tests="1" assertions="0" failures="1" skipped="0" time="0.1">
  </testsuite>
</testsuites>
`;

test('each file is counted once, without what was skipped', () => {
  const counts = countsIn(junit);
  expect([...counts]).toEqual([
    ['tests/a.test.ts', { total: 3, failed: 2 }],
    ['tests/b.test.ts', { total: 1, failed: 0 }],
    ['tests/e.test.ts', { total: 1, failed: 1 }],
  ]);
  expect(failedFilesOf(counts)).toEqual(['tests/a.test.ts', 'tests/e.test.ts']);
  expect(sumOf(counts)).toEqual({ total: 5, failed: 3 });
  expect(sumOf(countsIn(''))).toEqual({ total: 0, failed: 0 });
});

test('a file is quoted with everything that it printed, and with nothing of the others', () => {
  expect(outputOf('tests/a.test.ts', output)).toBe(`said before it failed
error: expect(received).toBe(expected)
(fail) bad [22.90ms]

(fail) slow [100.24ms]
  ^ this test timed out after 100ms.`);
  expect(outputOf('tests/b.test.ts', output)).toBe('');
  expect(outputOf('tests/e.test.ts', output)).toStartWith('✗ tests/e.test.ts (worker crashed: SIGKILL)');
});

test('errors outside of any test are counted, because no file can be run again for them', () => {
  expect(errorsIn(output)).toBe(1);
  expect(errorsIn(' 2 pass\n 0 fail\n')).toBe(0);
});

test('a counterexample is recognised in what fast-check reports', () => {
  const check = () => fc.assert(fc.property(fc.nat(), (value) => value < 10));
  expect(check).toThrow();
  let reported = '';
  try {
    check();
  } catch (error) {
    reported = (error as Error).message;
  }
  expect(hasCounterexample(reported)).toBe(true);
  expect(hasCounterexample(`12 |   code\nerror: ${reported}`)).toBe(true);
  expect(hasCounterexample('error: expect(received).toBe(expected)')).toBe(false);
});

test('errors between the tests of a file are counted by their headings', () => {
  const output =
    'one\n# Unhandled error between tests\n-----\nTypeError: x\n# Unhandled error between tests\n';
  expect([errorsBetweenTests(output), errorsBetweenTests('(fail) a test')]).toEqual([2, 0]);
});
