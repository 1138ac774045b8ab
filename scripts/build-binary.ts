/**
 * npm run build:binary [-- --target linux-arm64] [-- --outfile FILE]
 *
 * Builds one executable with the gateway, the command line, the sandbox, the migrations, the built dashboard and the
 * default catalogue. For this machine, or for another platform, whose Bun is then downloaded.
 */
import { cpSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readFiles, stampOf, storeFiles } from '../dashboard/build/dist.ts';
import { buildDashboard } from '../dashboard/build.ts';
import { guideNames } from '../src/openapi/guides.ts';

const root = join(import.meta.dir, '..');
const targets = [
  'linux-x64',
  'linux-arm64',
  'linux-x64-musl',
  'linux-arm64-musl',
  'darwin-x64',
  'darwin-arm64',
];

const { values } = parseArgs({ options: { target: { type: 'string' }, outfile: { type: 'string' } } });
const own = `${process.platform}-${process.arch}`;
const target = values.target ?? own;
if (!targets.includes(target)) fail(`--target must be one of ${targets.join(', ')}, but is "${target}".`);
const outfile = resolve(values.outfile ?? join(root, 'dist', `tollgate-${target}`));

const dashboard = join(root, 'dashboard');
const stamp = await stampOf(dashboard);
if ((await readFiles(dashboard, stamp)) === null) await storeFiles(dashboard, stamp, await buildDashboard());

// The executable stores a file or folder under its base name, so nested ones are copied together first.
const staged = mkdtempSync(join(tmpdir(), 'tollgate-binary-'));
process.on('exit', () => rmSync(staged, { recursive: true, force: true }));
// The licence of the fonts goes wherever they go.
for (const name of ['docs.css', 'docs.js', 'docs.html', 'guide.html', 'fonts/OFL.txt', `dist/${stamp}`])
  cpSync(join(dashboard, name), join(staged, 'dashboard', name), { recursive: true });
for (const name of guideNames) cpSync(join(root, 'docs', `${name}.md`), join(staged, 'docs', `${name}.md`));
// The paths inside the executable are those of the checkout.
process.chdir(root);
try {
  await Bun.build({
    // Each thread is a separate entry point.
    entrypoints: ['scripts/executable.ts', 'src/nodes/heartbeat-worker.ts'],
    root: '.',
    target: 'bun',
    compile: {
      outfile,
      ...(target === own ? {} : { target: `bun-${target}` as Bun.Build.CompileTarget }),
      assets: ['migrations', 'package.json', 'catalog.yaml', join(staged, 'dashboard'), join(staged, 'docs')],
      // Of the settings in the folder that it runs in, only .env is for Tollgate.
      autoloadBunfig: false,
    },
  });
} catch (error) {
  fail(error instanceof AggregateError ? error.errors.map(String).join('\n') : String(error));
}
const megabytes = Math.round(statSync(outfile).size / 1024 ** 2);
process.stdout.write(`${relative(process.cwd(), outfile)} for ${target}, ${megabytes} MB\n`);

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
