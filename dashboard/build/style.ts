/** Compiles the style sheet with Tailwind, given every word of the sources that could be one of its classes. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { compile } from 'tailwindcss';
import type { NamedFile } from './named-file.ts';

/** `start` is put before it as it is. */
export async function compileStyle(folder: string, start = ''): Promise<NamedFile> {
  const source = join(folder, 'styles/app.css');
  const compiler = await compile(readFileSync(source, 'utf8'), {
    base: dirname(source),
    loadStylesheet: async (id, base) => {
      const path = Bun.resolveSync(id === 'tailwindcss' ? 'tailwindcss/index.css' : id, base);
      return { path, base: dirname(path), content: readFileSync(path, 'utf8') };
    },
  });
  const css = compiler.build(candidatesOf(folder));
  const { outputs } = await Bun.build({
    entrypoints: ['/app.css'],
    files: { '/app.css': css },
    minify: true,
    target: 'browser',
  });
  const [output] = outputs;
  if (output === undefined) throw new Error('The style sheet is empty.');
  const bytes = new TextEncoder().encode(`${start}${withExactBreakpoints(await output.text())}`);
  return { name: `app-${Bun.hash(bytes).toString(36)}.css`, bytes };
}

/**
 * Bun writes `width < 48rem` as a `max-width` that is a thousandth of a pixel less. Browsers round that up, so that at exactly
 * this width both layouts would apply.
 */
export function withExactBreakpoints(css: string): string {
  return css.replaceAll(/\(max-width:calc\(([\d.]+rem) - \.001px\)\)/g, '(width<$1)');
}

function candidatesOf(folder: string): string[] {
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => /\.tsx?$/.test(name) && !/^(build|dist)\b/.test(name),
  );
  return [...new Set(sources.flatMap((name) => candidatesIn(readFileSync(join(folder, name), 'utf8'))))];
}

/**
 * Every word of a source that may be a class. Tailwind ignores unknown words, so too many do no harm. The exception are
 * words in brackets, which Tailwind always takes for a property, and code has many of those.
 */
export function candidatesIn(source: string): string[] {
  return [...new Set(source.match(/[^\s"'`]+/g) ?? [])].filter(
    (word) => /^[a-z@*!\-[]/.test(word) && (!word.startsWith('[') || word.startsWith('[&')),
  );
}
