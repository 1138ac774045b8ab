/**
 * Builds the dashboard: scripts in chunks, one style sheet and one page. Run as a program, it stores them where the
 * gateway looks for them, so that a container image does not have to build them at its first start.
 */
import { join } from 'node:path';
import { bundle } from './build/bundle.ts';
import { type Files, stampOf, storeFiles } from './build/dist.ts';
import { compileStyle } from './build/style.ts';

const folder = import.meta.dir;
const maxCompressedShare = 0.95;

export async function buildDashboard(): Promise<Files> {
  const [{ scripts, main, theme, preloads }, style] = await Promise.all([
    bundle(folder),
    compileStyle(folder),
  ]);
  const icon = await named('favicon.svg', join(folder, 'images/favicon.svg'));
  const template = await Bun.file(join(folder, 'index.html')).text();
  const page = template
    .replace('{{icon}}', `/assets/${icon.name}`)
    .replace('{{theme}}', `/assets/${theme}`)
    .replace('{{style}}', `/assets/${style.name}`)
    .replace('{{main}}', `/assets/${main}`)
    .replace(
      '{{preloads}}',
      preloads.map((name) => `<link rel="modulepreload" href="/assets/${name}" />`).join('\n    '),
    );
  return withCompressed([
    ...scripts,
    style,
    icon,
    { name: 'index.html', bytes: new TextEncoder().encode(page) },
  ]);
}

async function named(name: string, path: string): Promise<{ name: string; bytes: Uint8Array<ArrayBuffer> }> {
  const bytes = await Bun.file(path).bytes();
  const [stem, ending] = name.split('.');
  return { name: `${stem}-${Bun.hash(bytes).toString(36)}.${ending}`, bytes };
}

/** Compresses the files once instead of for each request. Those that do not get smaller are served uncompressed. */
function withCompressed(files: readonly { name: string; bytes: Uint8Array<ArrayBuffer> }[]): Files {
  const all = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const { name, bytes } of files) {
    all.set(name, bytes);
    const compressed = Bun.gzipSync(bytes, { level: 9 });
    if (compressed.length < bytes.length * maxCompressedShare) all.set(`${name}.gz`, compressed);
  }
  return all;
}

export function describeFiles(files: Files): string {
  const served = [...files].filter(([name]) => !files.has(`${name}.gz`));
  const bytes = served.reduce((sum, [, content]) => sum + content.length, 0);
  return `The dashboard is built: ${served.length} files, ${Math.ceil(bytes / 1024)} KB as they are sent.`;
}

if (import.meta.main) {
  const stamp = await stampOf(folder);
  const files = await buildDashboard();
  await storeFiles(folder, stamp, files);
  console.log(describeFiles(files));
}
