import { join } from 'node:path';

/** The folder of the checkout. Inside the single executable it is the same tree, as far as the executable carries it. */
export const rootFolder = Bun.isStandaloneExecutable ? '/$bunfs/root' : join(import.meta.dir, '../..');
