import type { SQL } from 'bun';
import type { Config } from '../config.ts';
import type { Arguments, OptionSpec } from './arguments.ts';

/** What a command prints: `json` with --json, else `text`. A command that failed in its task sets another exit code. */
export type Outcome = Readonly<{ json: unknown; text: string; exitCode?: number }>;

type CommandWords = Readonly<{
  name: string;
  summary: string;
  positionals?: readonly string[];
  options?: readonly OptionSpec[];
}>;

export type DatabaseCommand = CommandWords &
  Readonly<{
    /** `openDedicated` is for commands that need a connection of their own. */
    run: (sql: SQL, words: Arguments, config: Config, openDedicated: () => SQL) => Promise<Outcome>;
  }>;
export type LocalCommand = CommandWords &
  Readonly<{ runLocally: (config: Config, words: Arguments) => Promise<Outcome | null> }>;
export type Command = DatabaseCommand | LocalCommand;

/** Aligned columns for people. */
export function formatTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
