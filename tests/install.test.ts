/** What the first `npm start` shows while it installs, with an npm that takes its time. */
import { expect, test } from 'bun:test';
import { chmodSync, copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from './support/eventually.ts';
import { temporaryFolder } from './support/gateway.ts';

/** A checkout of two packages, and a third for another kind of machine. */
function prepare(npm: string) {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'scripts'));
  mkdirSync(join(folder, 'bin'));
  copyFileSync(join(import.meta.dir, '../scripts/install.mjs'), join(folder, 'scripts/install.mjs'));
  const packages = {
    '': {},
    'node_modules/a': {},
    'node_modules/b': { os: [process.platform] },
    'node_modules/c': { os: ['another'] },
  };
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ packages }));
  writeFileSync(join(folder, 'bin/npm'), `#!/bin/sh\n${npm}\n`);
  chmodSync(join(folder, 'bin/npm'), 0o755);
  return {
    folder,
    command: ['node', join(folder, 'scripts/install.mjs')],
    env: { PATH: `${join(folder, 'bin')}:${process.env.PATH}` },
  };
}

const adds = (name: string) =>
  `mkdir -p node_modules/${name} && echo '{}' > node_modules/${name}/package.json`;
const waitsFor = (name: string) => `while [ ! -e ${name} ]; do sleep 0.05; done`;

test('on a terminal one line tells how far it is', async () => {
  const { folder, command, env } = prepare(
    [waitsFor('begin'), adds('a'), waitsFor('go-on'), adds('b'), waitsFor('end')].join('\n'),
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
  await eventually('what it is doing', () => screen.includes('Fetching 2 packages … '));
  writeFileSync(join(folder, 'begin'), '');
  await eventually('the first package', () => screen.includes('Installing packages: 1 of 2'));
  writeFileSync(join(folder, 'go-on'), '');
  await eventually('both packages', () => screen.includes('all 2 are unpacked'));
  writeFileSync(join(folder, 'end'), '');
  expect(await child.exited).toBe(0);
  child.terminal?.close();
  // The last line takes the place of the one before.
  const [last = ''] = screen.split('\r\u001b[2K').slice(-1);
  expect(last).toMatch(/^Installed 2 packages in \d+ s\.\r?\n$/);
});

test('elsewhere it prints lines, and the second time nothing', async () => {
  const { command, env } = prepare([adds('a'), adds('b')].join('\n'));
  const run = () => Bun.spawnSync(command, { env });
  const first = run();
  expect(`${first.stderr}`).toMatch(
    /^Installing the packages of Tollgate, once\..*\nInstalled 2 packages in \d+ s\.\n$/,
  );
  expect(first.exitCode).toBe(0);
  expect(`${run().stderr}`).toBe('');
});

test('what npm says of its failure is shown, and the next start tries again', () => {
  const { folder, command, env } = prepare('echo "npm error: no network" >&2; exit 7');
  const { exitCode, stderr } = Bun.spawnSync(command, { env });
  expect(exitCode).toBe(1);
  expect(`${stderr}`).toContain('npm error: no network\nnpm ci failed; the messages above say why.\n');
  expect(existsSync(join(folder, 'node_modules/.installed'))).toBe(false);
});
