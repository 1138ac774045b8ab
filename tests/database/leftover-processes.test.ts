/** Which processes in a data folder are taken for those of a killed server. Only Linux shows what is needed for that. */
import { describe, expect, test } from 'bun:test';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findLeftoverProcesses } from '../../src/database/leftover-processes.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/gateway.ts';

const newNamespace = ['unshare', '--user', '--map-current-user', '--pid', '--fork', '--kill-child'];
const isLinux = process.platform === 'linux';
const hasNamespaces = isLinux && Bun.spawnSync([...newNamespace, 'true']).exitCode === 0;

describe.skipIf(!isLinux)('no leftover process is', () => {
  /** A process that looks like one of PostgreSQL's, in its own folder. */
  function pretender(prefix: readonly string[] = []) {
    const folder = temporaryFolder();
    const program = join(temporaryFolder(), 'postgres');
    copyFileSync('/bin/sleep', program);
    const child = Bun.spawn([...prefix, program, '60'], { cwd: folder });
    return { folder, child, [Symbol.dispose]: () => child.kill('SIGKILL') };
  }

  /** PostgreSQL in single-user mode writes its ID as a negative number. */
  test.each([1, -1])('a server whose ID is noted, times %d', async (sign) => {
    using one = pretender();
    await eventually('it runs', () => findLeftoverProcesses(one.folder).length === 1);
    writeFileSync(join(one.folder, 'postmaster.pid'), `${sign * one.child.pid}\n`);
    expect(findLeftoverProcesses(one.folder)).toEqual([]);
  });

  test.skipIf(!hasNamespaces)(
    'a process of another container, whose folder may have the same name',
    async () => {
      using one = pretender(newNamespace);
      const children = () =>
        readFileSync(`/proc/${one.child.pid}/task/${one.child.pid}/children`, 'utf8').trim();
      const name = () => (children() === '' ? '' : readFileSync(`/proc/${children()}/comm`, 'utf8').trim());
      await eventually('it runs', () => name() === 'postgres');
      expect(findLeftoverProcesses(one.folder)).toEqual([]);
    },
  );
});
