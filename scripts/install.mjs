/** Installs what package-lock.json names, unless that is what node_modules holds already. Needs only Node and npm. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const stamp = join(root, 'node_modules', '.installed');
const locked = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .digest('hex');
// The packages hold programs, so a checkout that moves to another kind of machine is installed anew.
const wanted = `${locked} ${process.platform} ${process.arch}`;

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  console.error('Installing the packages of Tollgate, once …');
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) {
    console.error('npm ci failed; the messages above say why.');
    process.exit(1);
  }
  writeFileSync(stamp, wanted);
}
