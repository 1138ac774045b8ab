import type { Command } from './command.ts';

export function describeCommands(commands: readonly Command[]): string {
  const lines = commands.map((command) => `  tollgate ${usage(command)}\n      ${command.summary}`);
  return `Usage:\n${lines.join('\n')}\n\nEvery command takes --json for output to programs and --help.`;
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
