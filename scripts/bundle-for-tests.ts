/** The programs that tests start hundreds of times, each bundled, so that Bun need not load a thousand files. */
import { chmodSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dir, '..');

/** Returns the folder, which the caller removes. */
export async function bundleForTests(): Promise<string> {
  // As deep below the checkout as the sources, which find other files relative to themselves.
  const folder = mkdtempSync(join(root, 'node_modules/.tollgate-test-'));
  // Some tests start a gateway as another user.
  chmodSync(folder, 0o755);
  await Bun.build({
    entrypoints: ['src/cli/main.ts', 'tests/support/quick-gateway.ts'].map((name) => join(root, name)),
    target: 'bun',
    outdir: folder,
    naming: { entry: '[name].js' },
    splitting: true,
    // It finds its sources relative to itself, and is needed only if no dashboard has been built.
    external: ['*/dashboard/build.ts'],
  });
  return folder;
}
