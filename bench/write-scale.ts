/** Updates the derived tables of docs/scale.md after a change of its figures: `bun bench/write-scale.ts`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderScale } from './scale.ts';

const file = join(import.meta.dir, '../docs/scale.md');
writeFileSync(file, renderScale(readFileSync(file, 'utf8')));
