/** Loaded before the program: exports have what has just happened, too. */
import { settling } from '../../src/exports/range.ts';

settling.seconds = 0;
