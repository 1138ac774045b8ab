/** Mutants that no test can kill, because nothing that anyone relies on differs, each with the reason. */
import { chat } from './equivalents/chat.ts';
import type { Equivalent } from './equivalents/entry.ts';
import { http } from './equivalents/http.ts';
import { lib } from './equivalents/lib.ts';
import { others } from './equivalents/others.ts';
import type { Mutant } from './mutants.ts';

const equivalents: readonly Equivalent[] = [...chat, ...http, ...lib, ...others];

export function reasonFor(mutant: Mutant): string | null {
  return equivalents.find((one) => covers(one, mutant))?.reason ?? null;
}

type Explained = Pick<Mutant, 'file' | 'within' | 'change'>;

/** Entries that no longer correspond to a mutant of the checked files. */
export function staleEquivalents(files: readonly string[], mutants: readonly Mutant[]): readonly Explained[] {
  return equivalents
    .filter(({ file }) => files.includes(file))
    .flatMap(({ file, within, changes }) => changes.map((change) => ({ file, within, change })))
    .filter((one) => !mutants.some((mutant) => isSame(one, mutant)));
}

function covers({ file, within, changes }: Equivalent, mutant: Mutant): boolean {
  return changes.some((change) => isSame({ file, within, change }, mutant));
}

function isSame(one: Explained, { file, within, change }: Mutant): boolean {
  return one.file === file && one.within === within && one.change === change;
}
