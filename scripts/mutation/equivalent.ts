/** Mutants that no test can kill, because nothing that anyone relies on differs, each with the reason. */
import type { Mutant } from './mutants.ts';

type Equivalent = Readonly<Pick<Mutant, 'file' | 'within' | 'change'> & { reason: string }>;

export const equivalents: readonly Equivalent[] = [];

export function reasonFor(mutant: Mutant): string | null {
  return equivalents.find((one) => isSame(one, mutant))?.reason ?? null;
}

/** Those that no mutant of the checked files corresponds to any more. */
export function staleEquivalents(
  files: readonly string[],
  mutants: readonly Mutant[],
): readonly Equivalent[] {
  return equivalents.filter(
    (one) => files.includes(one.file) && !mutants.some((mutant) => isSame(one, mutant)),
  );
}

function isSame(one: Equivalent, { file, within, change }: Mutant): boolean {
  return one.file === file && one.within === within && one.change === change;
}
