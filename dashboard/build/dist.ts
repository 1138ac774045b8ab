/**
 * Stores the built files in a folder named after a hash of everything that went into them. A folder that exists is
 * complete, because it gets its name last, and never stale, because other sources have another hash.
 */
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

const maxDraftAgeMs = 600_000;

export type Files = ReadonlyMap<string, Uint8Array<ArrayBuffer>>;

/** A hash of the sources, the packages and the bundler: everything that affects the build. */
export async function stampOf(folder: string): Promise<string> {
  const names = (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((name) => !name.startsWith('dist/'))
    .toSorted();
  const contents = await Promise.all(
    [...names, '../package-lock.json'].map(
      async (name) => [name, await readFile(join(folder, name))] as const,
    ),
  );
  const hasher = new Bun.CryptoHasher('sha256').update(Bun.version);
  for (const [name, bytes] of contents) hasher.update(`\n${name} ${bytes.length}\n`).update(bytes);
  return hasher.digest('hex').slice(0, 32);
}

/** The build of exactly these sources, or null. */
export async function readFiles(folder: string, stamp: string): Promise<Files | null> {
  const place = join(folder, 'dist', stamp);
  try {
    const names = await readdir(place);
    const contents = await Promise.all(
      names.map(async (name) => [name, new Uint8Array(await readFile(join(place, name)))] as const),
    );
    return names.length === 0 ? null : new Map(contents);
  } catch {
    return null;
  }
}

/** Several processes may do this at once: the first to rename its folder wins, and all wrote the same files. */
export async function storeFiles(folder: string, stamp: string, files: Files): Promise<void> {
  const dist = join(folder, 'dist');
  const draft = join(dist, `draft-${crypto.randomUUID()}`);
  await mkdir(draft, { recursive: true });
  try {
    await Promise.all([...files].map(([name, bytes]) => writeFile(join(draft, name), bytes)));
    await rename(draft, join(dist, stamp));
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (!isTaken(error)) throw error;
  }
  const others = (await readdir(dist)).filter((name) => name !== stamp);
  await Promise.all(others.map((name) => removeOutdated(join(dist, name))));
}

/** A recent draft is still being written; an old one belongs to a process that died. */
async function removeOutdated(place: string): Promise<void> {
  const isYoung = async () => {
    const { mtimeMs } = await stat(place).catch(() => ({ mtimeMs: Number.NEGATIVE_INFINITY }));
    return Date.now() - mtimeMs < maxDraftAgeMs;
  };
  if (basename(place).startsWith('draft-') && (await isYoung())) return;
  await rm(place, { recursive: true, force: true });
}

function isTaken(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return code === 'ENOTEMPTY' || code === 'EEXIST';
}
