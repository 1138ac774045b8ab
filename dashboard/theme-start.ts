/** Runs before the first paint, so that a chosen theme does not flash. It is a file because inline scripts are refused. */
import { applyTheme, storedTheme } from './theme.ts';

applyTheme(storedTheme());
