import type { SQL } from 'bun';
import type { Config } from '../config.ts';
import type { Arguments, OptionSpec } from './arguments.ts';

/** What a command prints: `json` with --json, else `text`; warnings go to stderr. The exit code is 0 unless it is set. */
export type Outcome = Readonly<{
  json: unknown;
  text: string;
  warnings?: readonly string[];
  exitCode?: number;
}>;

type CommandWords = Readonly<{
  name: string;
  summary: string;
  positionals?: readonly string[];
  options?: readonly OptionSpec[];
}>;

export type DatabaseCommand = CommandWords &
  Readonly<{
    /** `reads` is for what may be a few seconds old: a replica if there is one. Null when everything has been printed. */
    run: (
      sql: SQL,
      words: Arguments,
      config: Config,
      openDedicated: () => SQL,
      reads: () => SQL,
    ) => Promise<Outcome | null>;
  }>;
export type LocalCommand = CommandWords &
  Readonly<{ runLocally: (config: Config, words: Arguments) => Promise<Outcome | null> }>;
/** Reads the configuration itself, because it reports what is wrong with it. */
export type UnconfiguredCommand = CommandWords &
  Readonly<{ runUnconfigured: (words: Arguments) => Promise<Outcome> }>;
export type Command = DatabaseCommand | LocalCommand | UnconfiguredCommand;

/** A table, or the sentence that stands for one without rows. */
export function formatList(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  whenEmpty: string,
): string {
  return rows.length === 0 ? whenEmpty : formatTable(headings, rows);
}

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

export function describeCommands(commands: readonly Command[]): string {
  const lines = commands.map((command) => `  tollgate ${usage(command)}\n      ${command.summary}`);
  return `Usage:\n${lines.join('\n')}\n\nEvery command also takes --help, and --json for output that programs can read.`;
}

export function describeCommand(command: Command): string {
  return `Usage: tollgate ${usage(command)} [--json]\n\n${command.summary}`;
}

function usage({ name, positionals = [], options = [] }: Command): string {
  const words = options.map((option) => {
    const word = option.value === null ? `--${option.name}` : `--${option.name} ${option.value}`;
    return option.required ? word : `[${word}]`;
  });
  return [name, ...positionals, ...words].join(' ');
}
