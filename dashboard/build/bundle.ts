/** Bundles the scripts: one chunk with what every page needs, and one for each page. */
import { basename, join } from 'node:path';

type Script = Readonly<{ name: string; bytes: Uint8Array<ArrayBuffer> }>;

type Bundle = Readonly<{
  scripts: readonly Script[];
  /** The file that starts the app, and the one that applies the theme before the first paint. */
  main: string;
  theme: string;
  /** What `main` imports, so that the browser can fetch all of it at once. */
  preloads: readonly string[];
}>;

const options = {
  target: 'browser',
  minify: true,
  publicPath: '/assets/',
  naming: { entry: '[name]-[hash].[ext]', chunk: '[name]-[hash].[ext]' },
  define: { 'process.env.NODE_ENV': '"production"' },
} as const;

export async function bundle(folder: string): Promise<Bundle> {
  const [app, theme] = await Promise.all([
    Bun.build({
      ...options,
      entrypoints: [join(folder, 'main.tsx')],
      format: 'esm',
      splitting: true,
      metafile: true,
      jsx: { runtime: 'automatic', development: false },
    }),
    // Modules run only after the page is parsed, which is too late for the theme.
    Bun.build({ ...options, entrypoints: [join(folder, 'theme.ts')], format: 'iife' }),
  ]);
  const entry = entryOf(app.outputs);
  const imports = Object.entries(app.metafile?.outputs ?? {}).find(([path]) => basename(path) === entry)?.[1]
    .imports;
  return {
    scripts: await Promise.all([...app.outputs, ...theme.outputs].map(read)),
    main: entry,
    theme: entryOf(theme.outputs),
    preloads: (imports ?? [])
      .filter(({ kind }) => kind === 'import-statement')
      .map(({ path }) => basename(path)),
  };
}

function entryOf(outputs: readonly Bun.BuildArtifact[]): string {
  const entry = outputs.find(({ kind }) => kind === 'entry-point');
  if (entry === undefined) throw new Error('The bundle has no entry.');
  return basename(entry.path);
}

async function read(artifact: Bun.BuildArtifact): Promise<Script> {
  return { name: basename(artifact.path), bytes: new Uint8Array(await artifact.arrayBuffer()) };
}
