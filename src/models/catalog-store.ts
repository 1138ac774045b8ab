/**
 * Holds the catalogue in use and follows its file. A bad file never replaces a good catalogue.
 */
import { createHash } from 'node:crypto';
import { type FSWatcher, watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { OperatorError } from '../lib/operator-error.ts';
import { type CatalogResult, parseCatalog } from './catalog.ts';
import type { Catalog } from './model.ts';

/** How long to wait before a good file that could not be taken into use is tried again. */
const retryMs = 5_000;

/** Every problem is a line of the message. */
export class CatalogError extends OperatorError {
  override readonly name = 'CatalogError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

export type CatalogStoreOptions = Readonly<{
  path: string;
  /** Takes a new catalogue into use. When it fails, the catalogue is refused like one with a fault. */
  onReloaded?: (catalog: Catalog) => void | Promise<void>;
  onRefused?: (problems: readonly string[]) => void;
  now?: () => Date;
  /** An editor writes in several steps; the file is read when it has been quiet for this long. */
  quietMs?: number;
}>;

export type CatalogStatus = Readonly<{
  loadedAt: Date;
  /** Why the file as it is now is not in use; null when it is. */
  lastError: Readonly<{ at: Date; problems: readonly string[] }> | null;
}>;

export type ReloadOutcome = 'reloaded' | 'unchanged' | 'refused';

export class CatalogStore {
  readonly #options: CatalogStoreOptions;
  readonly #path: string;
  readonly #fileName: string;
  readonly #now: () => Date;
  readonly #quietMs: number;
  #catalog: Catalog;
  #status: CatalogStatus;
  #readDigest: string;
  #watcher: FSWatcher | null = null;
  #quietTimer: ReturnType<typeof setTimeout> | null = null;
  #lastReload: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  /** Loads the catalogue and follows its file until closed. Throws a CatalogError when the file is bad. */
  static async open(options: CatalogStoreOptions): Promise<CatalogStore> {
    const { result, digest } = await readCatalogFile(options.path);
    if (!result.ok) throw new CatalogError(result.problems);
    const store = new CatalogStore(options, result.catalog, digest);
    store.#watch();
    // A change between the read and the watch would otherwise wait for the next one.
    store.#reloadAfter(store.#quietMs);
    return store;
  }

  private constructor(options: CatalogStoreOptions, catalog: Catalog, digest: string) {
    this.#options = options;
    this.#path = resolve(options.path);
    this.#fileName = basename(options.path);
    this.#now = options.now ?? (() => new Date());
    this.#quietMs = options.quietMs ?? 150;
    this.#catalog = catalog;
    this.#status = { loadedAt: this.#now(), lastError: null };
    this.#readDigest = digest;
  }

  get catalog(): Catalog {
    return this.#catalog;
  }

  get status(): CatalogStatus {
    return this.#status;
  }

  /** Reads the file again. One at a time, so that an older read cannot overtake a newer one. */
  reload(): Promise<ReloadOutcome> {
    const outcome = this.#lastReload.then(() => this.#reload());
    this.#lastReload = outcome.catch(() => undefined);
    return outcome;
  }

  close(): void {
    this.#isClosed = true;
    this.#watcher?.close();
    this.#watcher = null;
    if (this.#quietTimer !== null) clearTimeout(this.#quietTimer);
    this.#quietTimer = null;
  }

  async #reload(): Promise<ReloadOutcome> {
    const file = await readText(this.#path);
    // The same content, good or bad, has been judged already: a touch does nothing.
    if (this.#isClosed || file.digest === this.#readDigest) return 'unchanged';
    this.#readDigest = file.digest;
    const result = judge(file, this.#path);
    if (!result.ok) return this.#refuse(result.problems);
    try {
      await this.#options.onReloaded?.(result.catalog);
    } catch (error) {
      // The file is good and the fault may pass, so the same content is tried again by itself.
      this.#readDigest = 'not in use';
      this.#reloadAfter(retryMs);
      return this.#refuse([`${this.#fileName}: could not be taken into use: ${messageOf(error)}`]);
    }
    this.#catalog = result.catalog;
    this.#status = { loadedAt: this.#now(), lastError: null };
    return 'reloaded';
  }

  #refuse(problems: readonly string[]): ReloadOutcome {
    this.#status = { ...this.#status, lastError: { at: this.#now(), problems } };
    this.#options.onRefused?.(problems);
    return 'refused';
  }

  #watch(): void {
    // The folder is watched, because a file that an editor replaces takes its watch with it.
    this.#watcher = watch(dirname(this.#path), { persistent: false }, (_event, changed) => {
      // Kubernetes swaps the folder `..data` beside the file instead of the file itself.
      if (changed === null || changed === this.#fileName || changed === '..data')
        this.#reloadAfter(this.#quietMs);
    });
    this.#watcher.on('error', (error) => {
      this.#options.onRefused?.([`${this.#fileName}: changes are no longer seen: ${messageOf(error)}`]);
    });
  }

  /** A later call replaces an earlier one: only the last change counts. */
  #reloadAfter(delayMs: number): void {
    if (this.#isClosed) return;
    if (this.#quietTimer !== null) clearTimeout(this.#quietTimer);
    this.#quietTimer = setTimeout(() => {
      this.reload().catch((error: unknown) => this.#refuse([`${this.#fileName}: ${messageOf(error)}`]));
    }, delayMs);
    // A pending look at the file must not keep a process alive that is done.
    this.#quietTimer.unref();
  }
}

/** Reads and judges a file once, without following it. */
export async function readCatalogFile(
  path: string,
): Promise<Readonly<{ result: CatalogResult; digest: string }>> {
  const file = await readText(path);
  return { result: judge(file, path), digest: file.digest };
}

type FileText = Readonly<{ text: string; digest: string }> | Readonly<{ problem: string; digest: string }>;

async function readText(path: string): Promise<FileText> {
  try {
    const text = await readFile(path, 'utf8');
    return { text, digest: createHash('sha256').update(text).digest('hex') };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
    const reason = code === 'ENOENT' ? 'the file does not exist' : `the file cannot be read (${code})`;
    return { problem: `${basename(path)}: ${reason}`, digest: `unreadable: ${code}` };
  }
}

function judge(file: FileText, path: string): CatalogResult {
  return 'text' in file ? parseCatalog(file.text, basename(path)) : { ok: false, problems: [file.problem] };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
