/** Holds the catalogue in use and follows its file. An invalid file never replaces a valid catalogue. */
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { type FSWatcher, watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { OperatorError } from '../lib/operator-error.ts';
import { type CatalogResult, parseCatalog } from './catalog.ts';
import type { Catalog } from './model.ts';

/** How long to wait before a valid file that could not be activated is tried again. */
const retryMs = 5_000;

/** The message has one line per problem. */
export class CatalogError extends OperatorError {
  override readonly name = 'CatalogError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

type CatalogStoreOptions<Active> = Readonly<{
  path: string;
  /** Makes a catalogue ready for use. When it fails, the catalogue is rejected like an invalid one. */
  activate: (catalog: Catalog) => Promise<Active>;
  onReloaded?: (active: Active) => void;
  onRejected?: (problems: readonly string[]) => void;
  now?: () => Date;
  /** An editor writes in several steps; the file is read once it has not changed for this long. */
  quietMs?: number;
}>;

export type CatalogStatus = Readonly<{
  loadedAt: Date;
  /** Why the file as it is now is not in use; null when it is. */
  lastError: Readonly<{ at: Date; problems: readonly string[] }> | null;
}>;

type ReloadOutcome = 'reloaded' | 'unchanged' | 'rejected';

export class CatalogStore<Active> {
  readonly #options: CatalogStoreOptions<Active>;
  readonly #path: string;
  readonly #fileName: string;
  readonly #now: () => Date;
  readonly #quietMs: number;
  #current: Active;
  #status: CatalogStatus;
  #readDigest: string;
  #watcher: FSWatcher | null = null;
  #quietTimer: ReturnType<typeof setTimeout> | null = null;
  #lastReload: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  /** Loads the catalogue and follows its file until closed. Throws a CatalogError when the file is invalid. */
  static async open<Active>(options: CatalogStoreOptions<Active>): Promise<CatalogStore<Active>> {
    const { result, digest } = await readCatalogFile(options.path);
    if (!result.ok) throw new CatalogError(result.problems);
    const store = new CatalogStore(options, await options.activate(result.catalog), digest);
    store.#watch();
    // A change between the read and the watch would otherwise wait for the next one.
    store.#reloadAfter(store.#quietMs);
    return store;
  }

  private constructor(options: CatalogStoreOptions<Active>, first: Active, digest: string) {
    this.#options = options;
    this.#path = resolve(options.path);
    this.#fileName = basename(options.path);
    this.#now = options.now ?? (() => new Date());
    this.#quietMs = options.quietMs ?? 150;
    this.#current = first;
    this.#status = { loadedAt: this.#now(), lastError: null };
    this.#readDigest = digest;
  }

  get current(): Active {
    return this.#current;
  }

  get status(): CatalogStatus {
    return this.#status;
  }

  /** Reads the file again. One at a time, so that an older read cannot overtake a newer one. */
  reload({ evenIfUnchanged = false } = {}): Promise<ReloadOutcome> {
    const outcome = this.#lastReload.then(() => this.#reload(evenIfUnchanged));
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

  async #reload(evenIfUnchanged: boolean): Promise<ReloadOutcome> {
    const file = await readText(this.#path);
    // The same content, valid or not, has been checked already: a touch does nothing.
    if (this.#isClosed || (file.digest === this.#readDigest && !evenIfUnchanged)) return 'unchanged';
    this.#readDigest = file.digest;
    const result = parse(file, this.#path);
    if (!result.ok) return this.#reject(result.problems);
    try {
      this.#current = await this.#options.activate(result.catalog);
    } catch (error) {
      // The file is valid and the failure may be temporary, so the same content is tried again.
      this.#readDigest = 'not in use';
      this.#reloadAfter(retryMs);
      return this.#reject([`${this.#fileName}: could not be activated: ${messageOf(error)}`]);
    }
    this.#status = { loadedAt: this.#now(), lastError: null };
    this.#options.onReloaded?.(this.#current);
    return 'reloaded';
  }

  #reject(problems: readonly string[]): ReloadOutcome {
    this.#status = { ...this.#status, lastError: { at: this.#now(), problems } };
    this.#options.onRejected?.(problems);
    return 'rejected';
  }

  #watch(): void {
    // The folder is watched, because a file that an editor replaces takes its watch with it.
    this.#watcher = watch(dirname(this.#path), { persistent: false }, (_event, changed) => {
      // Kubernetes swaps the folder `..data` next to the file instead of the file itself.
      if (changed === null || changed === this.#fileName || changed === '..data')
        this.#reloadAfter(this.#quietMs);
    });
    this.#watcher.on('error', (error) => {
      this.#options.onRejected?.([`${this.#fileName}: changes are no longer seen: ${messageOf(error)}`]);
    });
  }

  /** A later call replaces an earlier one: only the last change counts. */
  #reloadAfter(delayMs: number): void {
    if (this.#isClosed) return;
    if (this.#quietTimer !== null) clearTimeout(this.#quietTimer);
    this.#quietTimer = setTimeout(() => {
      this.reload().catch((error: unknown) => this.#reject([`${this.#fileName}: ${messageOf(error)}`]));
    }, delayMs);
    // A pending check of the file must not keep the process alive.
    this.#quietTimer.unref();
  }
}

/** Reads and checks a file once, without following it. */
export async function readCatalogFile(
  path: string,
): Promise<Readonly<{ result: CatalogResult; digest: string; isRead: boolean }>> {
  const file = await readText(path);
  return { result: parse(file, path), digest: file.digest, isRead: file.isRead };
}

type FileText = Readonly<{ digest: string; isRead: boolean }> &
  (Readonly<{ text: string }> | Readonly<{ problem: string }>);

async function readText(path: string): Promise<FileText> {
  try {
    const bytes = await readFile(path);
    const digest = createHash('sha256').update(bytes).digest('hex');
    return isUtf8(bytes)
      ? { text: bytes.toString(), digest, isRead: true }
      : { problem: `${basename(path)}: the file is not UTF-8`, digest, isRead: true };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
    const reason = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    const remedy = code === 'ENOENT' ? ' To write the default one: tollgate catalog init' : '';
    const problem = `The catalogue ${resolve(path)} ${reason}. TOLLGATE_CATALOG names the file to use.${remedy}`;
    return { problem, digest: `unreadable: ${code}`, isRead: false };
  }
}

function parse(file: FileText, path: string): CatalogResult {
  return 'text' in file ? parseCatalog(file.text, basename(path)) : { ok: false, problems: [file.problem] };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
