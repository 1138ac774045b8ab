/** The catalogue in use and its file: changes are followed, and a bad file never replaces a good catalogue. */
import { afterEach, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CatalogError, CatalogStore, readCatalogFile } from '../../src/models/catalog-store.ts';
import type { Catalog } from '../../src/models/model.ts';
import { eventually } from '../support/eventually.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const version = (label: string) => `price_version: "${label}"\nproviders: {}\nmodels: {}\n`;

/** With a long quiet time only explicit reloads read the file, so that a test knows the cause. */
async function open(quietMs = 20, take: (catalog: Catalog) => Promise<void> = async () => {}) {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-catalog-'));
  const path = join(folder, 'catalog.yaml');
  await writeFile(path, version('1'));
  const events: string[] = [];
  const store = await CatalogStore.open({
    path,
    quietMs,
    activate: async (catalog) => {
      if (catalog.priceVersion !== '1') await take(catalog);
      return catalog;
    },
    onReloaded: (catalog) => void events.push(catalog.priceVersion),
    onRejected: (problems) => void events.push(...problems),
  });
  closers.push(
    () => rm(folder, { recursive: true, force: true }),
    () => store.close(),
  );
  return { store, path, events, folder };
}

test('a missing or bad file at the start is an error with every problem on its line', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-catalog-'));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'models.yaml');
  const failure = async () => {
    try {
      (await CatalogStore.open({ path, activate: async (catalog) => catalog })).close();
    } catch (error) {
      return error;
    }
    return null;
  };
  const missing = await failure();
  expect(missing).toBeInstanceOf(CatalogError);
  expect(missing).toMatchObject({
    message: `The catalogue ${path} does not exist. TOLLGATE_CATALOG names the file to use. To write the default one: tollgate catalog init`,
  });
  await writeFile(path, Buffer.from('price_version: "1"\nproviders: {}\nmodels: {} # \xe9\n', 'latin1'));
  expect(await failure()).toMatchObject({ message: 'models.yaml: the file is not UTF-8' });
  await writeFile(path, 'price_version: 1\nproviders: {}\nmodels: 5\n');
  expect(await failure()).toMatchObject({
    message:
      'models.yaml:1: price_version: expected a label in quotes such as "2026-11", got the number 1\n' +
      'models.yaml:3: models: expected a mapping, got the number 5',
  });
  expect((await readCatalogFile(folder)).result).toMatchObject({ ok: false });
});

test('follows a file that is written in place', async () => {
  const { store, path, events } = await open();
  expect(store.current.priceVersion).toBe('1');
  // In one write: a watcher on another thread would see the empty file in between.
  writeFileSync(path, version('2'));
  await eventually('the new file is in use', () => store.current.priceVersion === '2');
  expect(events).toEqual(['2']);
});

test('follows a file that is replaced repeatedly', async () => {
  const { store, path, events, folder } = await open();
  for (const label of ['2', '3', '4']) {
    await writeFile(join(folder, 'new'), version(label));
    await rename(join(folder, 'new'), path);
    await eventually('the new file is in use', () => store.current.priceVersion === label);
  }
  expect(events).toEqual(['2', '3', '4']);
});

test('keeps the good catalogue when the file turns bad or goes away, and says why', async () => {
  const { store, path, events } = await open();
  const { loadedAt } = store.status;
  writeFileSync(path, 'price_version: "2"\n');
  await eventually('the bad file is refused', () => store.status.lastError !== null);
  expect(store.current.priceVersion).toBe('1');
  expect(store.status.loadedAt).toEqual(loadedAt);
  expect(store.status.lastError?.problems).toEqual([
    'catalog.yaml:1: providers: missing, expected a mapping',
    'catalog.yaml:1: models: missing, expected a mapping',
  ]);
  await rm(path);
  await eventually(
    'the missing file is refused',
    () => store.status.lastError?.problems[0]?.includes(`${path} does not exist`) === true,
  );
  expect(store.current.priceVersion).toBe('1');
  writeFileSync(path, version('3'));
  await eventually('the good file is in use', () => store.status.lastError === null);
  expect(store.current.priceVersion).toBe('3');
  expect(events).toHaveLength(4);
});

test('a touch and other files of the folder do nothing', async () => {
  const { store, path, events, folder } = await open();
  await utimes(path, new Date(), new Date());
  writeFileSync(path, version('1'));
  await writeFile(join(folder, 'other.yaml'), version('9'));
  await Bun.sleep(150);
  expect(await store.reload()).toBe('unchanged');
  expect(events).toEqual([]);
});

test('a forced reload applies the same content again', async () => {
  const { store, path, events, folder } = await open(60_000);
  expect(await store.reload({ evenIfUnchanged: true })).toBe('reloaded');
  // Watching does not notice when the target of a link changes elsewhere; an explicit reload reads it.
  const target = join(folder, 'target.yaml');
  await writeFile(target, version('2'));
  await rm(path);
  await symlink(target, path);
  expect(await store.reload({ evenIfUnchanged: true })).toBe('reloaded');
  await writeFile(target, version('3'));
  expect(await store.reload({ evenIfUnchanged: true })).toBe('reloaded');
  expect(events).toEqual(['1', '2', '3']);
});

test('reload returns what happened to the file', async () => {
  const { store, path, events } = await open(60_000);
  await writeFile(path, version('2'));
  // Requested twice at once, it still happens once.
  expect(await Promise.all([store.reload(), store.reload()])).toEqual(['reloaded', 'unchanged']);
  await writeFile(path, '{');
  expect(await store.reload()).toBe('rejected');
  expect(await store.reload()).toBe('unchanged');
  expect(events).toHaveLength(2);
  expect(store.current.priceVersion).toBe('2');
});

test('a slow reload is not overtaken by a later one', async () => {
  const { promise: gate, resolve: release } = Promise.withResolvers<void>();
  const { promise: taken, resolve: take } = Promise.withResolvers<void>();
  const { store, path, events } = await open(60_000, async (catalog) => {
    if (catalog.priceVersion !== '2') return;
    take();
    await gate;
  });
  await writeFile(path, version('2'));
  const first = store.reload();
  await taken;
  await writeFile(path, version('3'));
  const second = store.reload();
  // Time to overtake, for one that would.
  await Bun.sleep(30);
  release();
  expect(await Promise.all([first, second])).toEqual(['reloaded', 'reloaded']);
  expect(events).toEqual(['2', '3']);
  expect(store.current.priceVersion).toBe('3');
});

test('a valid file that cannot take effect is refused, and tried again', async () => {
  let isBroken = true;
  const { store, path, events } = await open(60_000, async () => {
    if (isBroken) throw new Error('The database is away.');
  });
  await writeFile(path, version('2'));
  expect(await store.reload()).toBe('rejected');
  expect(store.current.priceVersion).toBe('1');
  expect(events).toEqual(['catalog.yaml: could not be activated: The database is away.']);
  isBroken = false;
  expect(await store.reload()).toBe('reloaded');
  expect(store.current.priceVersion).toBe('2');
  expect(store.status.lastError).toBeNull();
});

test('a closed store no longer follows', async () => {
  const { store, path, events } = await open();
  store.close();
  await writeFile(path, version('2'));
  await Bun.sleep(100);
  expect(await store.reload()).toBe('unchanged');
  expect(events).toEqual([]);
});
