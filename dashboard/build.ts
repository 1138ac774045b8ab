/**
 * Builds the dashboard: scripts in chunks, one style sheet and one page. Run as a program, it stores them where the
 * gateway looks for them, so that a container image does not have to build them at its first start.
 */
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { bundle } from './build/bundle.ts';
import { type Files, stampOf, storeFiles } from './build/dist.ts';
import { readFonts } from './build/fonts.ts';
import { hashedFile, type NamedFile } from './build/named-file.ts';
import { compileStyle } from './build/style.ts';

const folder = import.meta.dir;
const maxCompressedShare = 0.95;

export async function buildDashboard(): Promise<Files> {
  const fonts = await readFonts(folder);
  const [{ scripts, main, theme, preloads }, style, icon] = await Promise.all([
    bundle(folder),
    compileStyle(folder, fonts.css),
    hashedFile('favicon.svg', join(folder, 'images/favicon.svg')),
  ]);
  const template = await Bun.file(join(folder, 'index.html')).text();
  const page = template
    .replace('{{icon}}', `/assets/${icon.name}`)
    .replace('{{font}}', `/assets/${fonts.first}`)
    .replace('{{theme}}', `/assets/${theme}`)
    .replace('{{style}}', `/assets/${style.name}`)
    .replace('{{main}}', `/assets/${main}`)
    .replace(
      '{{preloads}}',
      preloads.map((name) => `<link rel="modulepreload" href="/assets/${name}" />`).join('\n    '),
    );
  return withCompressed([
    ...scripts,
    ...fonts.files,
    style,
    icon,
    { name: 'fonts.css', bytes: new TextEncoder().encode(fonts.css) },
    { name: 'index.html', bytes: new TextEncoder().encode(page) },
  ]);
}

/** Compresses the files once instead of for each request. Those that do not get smaller are served uncompressed. */
function withCompressed(files: readonly NamedFile[]): Files {
  const all = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const { name, bytes } of files) {
    all.set(name, bytes);
    const gzipped = Bun.gzipSync(bytes, { level: 9 });
    if (gzipped.length >= bytes.length * maxCompressedShare) continue;
    all.set(`${name}.gz`, gzipped);
    all.set(`${name}.br`, new Uint8Array(brotliCompressSync(bytes)));
  }
  return all;
}

export function describeFiles(files: Files): string {
  const served = [...files].filter(([name]) => !name.endsWith('.br') && !files.has(`${name}.gz`));
  const bytes = served.reduce((sum, [, content]) => sum + content.length, 0);
  return `The dashboard is built: ${served.length} files, ${Math.ceil(bytes / 1024)} KB as they are sent.`;
}

if (import.meta.main) {
  const stamp = await stampOf(folder);
  const files = await buildDashboard();
  await storeFiles(folder, stamp, files);
  console.log(describeFiles(files));
}
