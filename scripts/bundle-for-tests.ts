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
  const options = {
    target: 'bun' as const,
    outdir: folder,
    naming: { entry: '[name].js' },
    // It finds its sources relative to itself, and is needed only if no dashboard has been built.
    external: ['*/dashboard/build.ts'],
  } satisfies Partial<Bun.BuildConfig>;
  await Promise.all([
    // Compiling ahead takes seconds and saves a third of each start. Bun does it for CommonJS only.
    Bun.build({ ...options, entrypoints: [join(root, 'src/cli/main.ts')], format: 'cjs', bytecode: true }),
    // The few tests that start these would not make up for those seconds.
    Bun.build({
      ...options,
      entrypoints: ['quick-gateway', 'sweeping-gateway'].map((name) =>
        join(root, `tests/support/${name}.ts`),
      ),
    }),
  ]);
  return folder;
}
