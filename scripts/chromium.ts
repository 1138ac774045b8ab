/** The browser that the tests of the dashboard drive: an installed one, or Debian's, installed if possible. */
import { existsSync } from 'node:fs';

/** It paints no windows and takes a fifth less CPU. */
const quickest = 'chromium-headless-shell';
const names = [quickest, 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const applications = [
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

export function findChromium(): string | null {
  const found = names.map((name) => Bun.which(name)).find((path) => path !== null);
  return found ?? applications.find((path) => existsSync(path)) ?? null;
}

/** True if there is a browser now; otherwise it has printed how to get one. */
export function ensureChromium(): boolean {
  if (findChromium() !== null) return true;
  if (process.getuid?.() === 0 && Bun.which('apt-get') !== null) install();
  if (findChromium() !== null) return true;
  process.stdout.write(
    'The tests of the dashboard need Chromium or Chrome. On Debian and Ubuntu: sudo apt-get install chromium. ' +
      'On macOS: brew install --cask chromium.\n',
  );
  return false;
}

function install(): void {
  process.stdout.write('Installing Chromium for the tests of the dashboard …\n');
  if (!run('apt-get', 'update', '-q')) return;
  // Older releases do not have the first.
  if (!run('apt-get', 'install', '-qy', quickest)) run('apt-get', 'install', '-qy', 'chromium');
}

function run(...command: string[]): boolean {
  return Bun.spawnSync(command, { stdio: ['ignore', 'ignore', 'inherit'] }).exitCode === 0;
}
