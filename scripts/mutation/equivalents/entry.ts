import type { Mutant } from '../mutants.ts';

/** Several changes of one function may have the same reason. */
export type Equivalent = Readonly<
  Pick<Mutant, 'file' | 'within'> & { changes: readonly string[]; reason: string }
>;
