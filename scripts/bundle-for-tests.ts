/** The programs that tests start by the hundred, each as a script that Bun need not put together from a thousand files. */
import { chmodSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dir, '..');

/** Returns the folder, which belongs to the run: whoever made it removes it. */
export async function bundleForTests(): Promise<string> {
  // As deep below the checkout as the sources are, which find its other files by their own place.
  const folder = mkdtempSync(join(root, 'node_modules/.tollgate-test-'));
  // Some tests start a gateway as another user.
  chmodSync(folder, 0o755);
  await Bun.build({
    entrypoints: ['src/cli/main.ts', 'tests/support/quick-gateway.ts'].map((name) => join(root, name)),
    target: 'bun',
    outdir: folder,
    naming: { entry: '[name].js' },
    splitting: true,
    // It finds its sources by its own place, and is needed only where no dashboard has been built.
    external: ['*/dashboard/build.ts'],
  });
  return folder;
}
