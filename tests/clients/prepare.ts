/** Installs each client in its own folder below .clients, and returns how to run its script. */
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from './clients.ts';

const sources = import.meta.dir;
export const cacheFolder = join(import.meta.dir, '../../.clients');
const uvVersion = '0.13.7';
/** Installing and compiling take long, but a silent registry must not take forever. */
const maxInstallMs = 1_200_000;

export type Prepared = Readonly<{ command: readonly string[]; cwd: string; path: string }>;

/** The program that a language needs, and how to get it. */
const needs: Readonly<Record<Client['language'], Readonly<{ program: string; remedy: string }>>> = {
  shell: { program: 'curl', remedy: 'apt-get install curl' },
  python: { program: 'python3', remedy: 'apt-get install python3-venv' },
  node: { program: 'npm', remedy: 'https://nodejs.org' },
  go: { program: 'go', remedy: 'https://go.dev/dl' },
  java: { program: 'mvn', remedy: 'apt-get install maven' },
  rust: { program: 'cargo', remedy: 'https://rustup.rs' },
};

/** Null when everything is there, else what is missing. */
export function missingFor(language: Client['language']): string | null {
  const { program, remedy } = needs[language];
  return Bun.which(program) === null ? `needs ${program} (${remedy})` : null;
}

export function prepare(client: Client): Prepared {
  const { language, script, packages } = client;
  const cwd = join(cacheFolder, language);
  cpSync(join(sources, language), cwd, { recursive: true });
  const path = process.env.PATH ?? '';
  const prepared = { cwd, path };
  const environment = packages === undefined ? null : pythonEnvironment(packages);
  switch (language) {
    case 'python':
      return { ...prepared, command: [join(environment ?? '', 'bin/python'), script] };
    case 'shell':
      return {
        ...prepared,
        path: environment === null ? path : `${join(environment, 'bin')}:${path}`,
        command: ['sh', script],
      };
    case 'node':
      prepareNode();
      return { ...prepared, command: ['node', script] };
    case 'go':
      run(['go', 'build', '-o', 'bin/', `./${script}`], cwd);
      return { ...prepared, command: [join(cwd, 'bin', script)] };
    case 'java':
      run(['mvn', '--batch-mode', '--quiet', 'package'], join(cwd, script));
      return {
        ...prepared,
        command: ['java', '-cp', 'target/classes:target/lib/*', 'Main'],
        cwd: join(cwd, script),
      };
    case 'rust':
      run(['cargo', 'build', '--quiet', '--locked'], join(cwd, script));
      return { ...prepared, command: [join(cwd, script, 'target/debug', script)] };
  }
}

/** The folder with the modules of every script in JavaScript. */
export function prepareNode(): string {
  const folder = join(cacheFolder, 'node');
  cpSync(join(sources, 'node'), folder, { recursive: true });
  const wanted = readFileSync(join(folder, 'package.json'), 'utf8');
  once(join(folder, 'installed'), wanted, () =>
    run(['npm', 'install', '--no-audit', '--no-fund', '--loglevel=error'], folder),
  );
  return folder;
}

/** A virtual environment with exactly these packages, which is kept for the next run. */
export function pythonEnvironment(packages: readonly string[]): string {
  const uv = join(cacheFolder, 'uv');
  once(join(uv, 'installed'), uvVersion, () => {
    run(['python3', '-m', 'venv', uv], cacheFolder);
    run([join(uv, 'bin/pip'), 'install', '--quiet', `uv==${uvVersion}`], cacheFolder);
  });
  const folder = join(cacheFolder, 'environments', packages.join('+').replaceAll(/[^\w.+-]/g, '-'));
  once(join(folder, 'installed'), packages.join('\n'), () => {
    const command = join(uv, 'bin/uv');
    run([command, 'venv', '--quiet', '--clear', '--python', 'python3', folder], cacheFolder);
    run(
      [command, 'pip', 'install', '--quiet', '--python', join(folder, 'bin/python'), ...packages],
      cacheFolder,
    );
  });
  return folder;
}

/** Skips the work if the file says that exactly this was done before. */
function once(file: string, wanted: string, install: () => void): void {
  mkdirSync(cacheFolder, { recursive: true });
  if (existsSync(file) && readFileSync(file, 'utf8') === wanted) return;
  install();
  writeFileSync(file, wanted);
}

export function run(command: readonly string[], cwd: string): string {
  mkdirSync(cwd, { recursive: true });
  const result = Bun.spawnSync([...command], { cwd, stdout: 'pipe', stderr: 'pipe', timeout: maxInstallMs });
  const output = `${result.stdout}${result.stderr}`;
  if (result.exitCode !== 0) throw new Error(`${command.join(' ')} failed:\n${output.slice(-3_000)}`);
  return output;
}
