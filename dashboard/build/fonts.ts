/** The fonts that are shipped, so that every reader sees the same: named after their content, like every other file. */
import { join } from 'node:path';
import { hashedFile, type NamedFile } from './named-file.ts';

const families = [
  { family: 'Geist', file: 'geist.woff2' },
  { family: 'Geist Mono', file: 'geist-mono.woff2' },
] as const;

type Fonts = Readonly<{
  files: readonly NamedFile[];
  /** The rules that name them, for every style sheet. */
  css: string;
  /** The one that every page needs at once. */
  first: string;
}>;

/** A page is readable before they are there: with `swap`, the browser uses its own font until then. */
export async function readFonts(folder: string): Promise<Fonts> {
  const files = await Promise.all(families.map(({ file }) => hashedFile(file, join(folder, 'fonts', file))));
  const rules = families.map(
    ({ family }, at) =>
      `@font-face{font-family:"${family}";font-style:normal;font-weight:400 700;font-display:swap;src:url(/assets/${files[at]?.name})format("woff2")}`,
  );
  return { files, css: rules.join(''), first: files[0]?.name ?? '' };
}
