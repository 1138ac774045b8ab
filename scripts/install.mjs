/** Installs what package-lock.json names, unless that is what node_modules holds already. Needs only Node and npm. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const stamp = join(root, 'node_modules', '.installed');
const lockFile = readFileSync(join(root, 'package-lock.json'));
const locked = createHash('sha256').update(lockFile).digest('hex');
// The packages hold programs, so a checkout that moves to another kind of machine is installed again.
const wanted = `${locked} ${process.platform} ${process.arch}`;

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  const failure = await install();
  if (failure !== null) {
    console.error(`${failure.trim()}\nnpm ci failed; the messages above say why.`);
    process.exit(1);
  }
  writeFileSync(stamp, wanted);
}

/** Returns what npm printed when it failed, and null when it succeeded. */
async function install() {
  const progress = showProgress(packageFolders());
  const npm = spawn('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // Otherwise npm would go on in the background.
  process.once('SIGTERM', () => {
    npm.kill();
    process.exit(143);
  });
  let printed = '';
  for (const stream of [npm.stdout, npm.stderr])
    stream.on('data', (bytes) => {
      printed += bytes;
    });
  const code = await new Promise((resolve) => {
    npm.on('error', (error) => {
      printed += error.message;
      resolve(1);
    });
    npm.on('close', resolve);
  });
  progress.end(code === 0);
  return code === 0 ? null : printed;
}

/** The folders of those packages that are for this kind of machine. */
function packageFolders() {
  const fits = (values, own) =>
    values === undefined ||
    values.includes(own) ||
    (values.every((value) => value.startsWith('!')) && !values.includes(`!${own}`));
  return Object.entries(JSON.parse(lockFile).packages)
    .filter(([path, { os, cpu }]) => path !== '' && fits(os, process.platform) && fits(cpu, process.arch))
    .map(([path]) => join(root, path));
}

/** A line that is kept up to date on a terminal; elsewhere one line now and then. npm itself is silent for minutes. */
function showProgress(folders) {
  const isLive = process.stderr.isTTY === true;
  const startedAt = Date.now();
  const seconds = () => Math.round((Date.now() - startedAt) / 1000);

  function describe() {
    const count = folders.filter((folder) => existsSync(join(folder, 'package.json'))).length;
    // npm unpacks the first package only once it has fetched many.
    if (count === 0) return `Fetching ${folders.length} packages … ${seconds()} s`;
    return count < folders.length
      ? `Installing packages: ${count} of ${folders.length}, ${seconds()} s`
      : `Installing packages: all ${count} are unpacked, running their set-up, ${seconds()} s`;
  }

  const write = (line) => process.stderr.write(isLive ? `\r\u001b[2K${line}` : `${line}\n`);
  console.error('Installing the packages of Tollgate, once. This takes a minute or two …');
  const timer = setInterval(() => write(describe()), isLive ? 250 : 10_000);
  return {
    end: (isDone) => {
      clearInterval(timer);
      if (isDone) write(`Installed ${folders.length} packages in ${seconds()} s.${isLive ? '\n' : ''}`);
      else if (isLive) process.stderr.write('\n');
    },
  };
}
