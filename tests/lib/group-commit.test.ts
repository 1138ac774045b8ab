/** Which operations share a batch, and when it is sent. */
import { expect, test } from 'bun:test';
import { GroupCommit } from '../../src/lib/group-commit.ts';

/** Long enough for a test to end before. */
const patienceMs = 60_000;

/** Batches that stay in progress until they are ended. Operations in capitals are patient. */
function recorded(options: { maxAtOnce?: number; minBeside?: number; patienceMs?: number } = {}) {
  const batches: string[] = [];
  const ends: (() => void)[] = [];
  const commits = new GroupCommit<string, string>(
    (batch) => {
      batches.push(batch.join(''));
      return new Promise((resolve) => {
        ends.push(() => resolve(batch.map((operation) => (operation === 'x' ? new Error('x') : operation))));
      });
    },
    { isPatient: (operation) => operation !== operation.toLowerCase(), patienceMs, ...options },
  );
  const submit = (operations: string) => ({
    results: Promise.all([...operations].map((one) => commits.submit(one).catch(() => 'failed'))),
  });
  return { commits, batches, submit, end: () => ends.shift()?.() };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test('what is submitted in one turn shares a batch, and what comes meanwhile the next one', async () => {
  const { batches, submit, end } = recorded();
  submit('ab');
  await nextTurn();
  submit('c');
  submit('d');
  await nextTurn();
  expect(batches).toEqual(['ab']);
  end();
  await nextTurn();
  await nextTurn();
  expect(batches).toEqual(['ab', 'cd']);
});

test('as many batches as allowed are in progress', async () => {
  const { batches, submit } = recorded({ maxAtOnce: 2 });
  for (const one of 'abc') {
    submit(one);
    await nextTurn();
  }
  expect(batches).toEqual(['a', 'b']);
});

test('a small batch waits for the one before it, and a larger one does not', async () => {
  const { batches, submit, end } = recorded({ maxAtOnce: 2, minBeside: 3 });
  submit('a');
  await nextTurn();
  submit('bc');
  await nextTurn();
  expect(batches).toEqual(['a']);
  submit('d');
  await nextTurn();
  expect(batches).toEqual(['a', 'bcd']);
  submit('e');
  end();
  await nextTurn();
  await nextTurn();
  expect(batches).toEqual(['a', 'bcd']);
  end();
  await nextTurn();
  await nextTurn();
  expect(batches).toEqual(['a', 'bcd', 'e']);
});

test('each operation gets its own result, or its own error', async () => {
  const { submit, end } = recorded();
  const { results } = submit('axb');
  await nextTurn();
  end();
  expect(await results).toEqual(['a', 'failed', 'b']);
});

test('a patient operation waits for another one', async () => {
  const { batches, submit } = recorded();
  submit('A');
  await nextTurn();
  submit('B');
  await nextTurn();
  expect(batches).toEqual([]);
  submit('c');
  await nextTurn();
  expect(batches).toEqual(['ABc']);
});

test('a patient operation waits for no more than its time', async () => {
  const { batches, submit } = recorded({ patienceMs: 1 });
  submit('A');
  while (batches.length === 0) await nextTurn();
  expect(batches).toEqual(['A']);
});

test('a patient operation is sent when somebody waits for it', async () => {
  const { commits, batches, submit } = recorded();
  submit('A');
  await nextTurn();
  commits.hurry();
  await nextTurn();
  expect(batches).toEqual(['A']);
});

test('a patient operation joins those that wait behind a batch, and waits alone after it', async () => {
  const { commits, batches, submit, end } = recorded();
  submit('a');
  await nextTurn();
  submit('bC');
  end();
  await nextTurn();
  await nextTurn();
  expect(batches).toEqual(['a', 'bC']);
  submit('D');
  end();
  await nextTurn();
  await nextTurn();
  expect(batches).toEqual(['a', 'bC']);
  commits.hurry();
  await nextTurn();
  expect(batches).toEqual(['a', 'bC', 'D']);
});
