/**
 * Makes the dashboard's files out of its sources: the script in pieces, one style, one page. Run as a program, it puts
 * them where the gateway looks for them, so that an image is ready before its first start.
 */
import { join } from 'node:path';
import { bundle } from './build/bundle.ts';
import { type Files, keepFiles, stampOf } from './build/dist.ts';
import { compileStyle } from './build/style.ts';

const folder = import.meta.dir;
const longestPacked = 0.95;

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
  return withPacked([...scripts, style, icon, { name: 'index.html', bytes: new TextEncoder().encode(page) }]);
}

async function named(name: string, path: string): Promise<{ name: string; bytes: Uint8Array<ArrayBuffer> }> {
  const bytes = await Bun.file(path).bytes();
  const [stem, ending] = name.split('.');
  return { name: `${stem}-${Bun.hash(bytes).toString(36)}.${ending}`, bytes };
}

/** Packed once here, and not for each request. What does not get smaller is served as it is. */
function withPacked(files: readonly { name: string; bytes: Uint8Array<ArrayBuffer> }[]): Files {
  const all = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const { name, bytes } of files) {
    all.set(name, bytes);
    const packed = Bun.gzipSync(bytes, { level: 9 });
    if (packed.length < bytes.length * longestPacked) all.set(`${name}.gz`, packed);
  }
  return all;
}

if (import.meta.main) {
  const stamp = await stampOf(folder);
  const files = await buildDashboard();
  await keepFiles(folder, stamp, files);
  for (const [name, bytes] of files) if (!files.has(`${name}.gz`)) console.log(`${bytes.length}\t${name}`);
}
