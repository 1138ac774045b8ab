/** The `tollgate` command: finds the command, runs it, prints what it says. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '../config.ts';
import { type Database, explainRefusal, openDatabase } from '../database/connection.ts';
import { migrate, requireMigrated } from '../database/migrate.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { accountCommands } from './account-commands.ts';
import { type Arguments, type OptionSpec, readArguments, UsageError } from './arguments.ts';
import { backupCommands } from './backup-commands.ts';
import { catalogCommands } from './catalog-commands.ts';
import type { Command, DatabaseCommand, Outcome } from './command.ts';
import { describeCommand, describeCommands } from './help.ts';
import { keyCommands } from './key-commands.ts';
import { ledgerCommands } from './ledger-commands.ts';
import { serveCommands } from './serve-commands.ts';
import { userCommands } from './user-commands.ts';

const commands: readonly Command[] = [
  ...serveCommands,
  ...accountCommands,
  ...keyCommands,
  ...userCommands,
  ...catalogCommands,
  ...ledgerCommands,
  ...backupCommands,
];
const commonOptions: readonly OptionSpec[] = [
  { name: 'json', value: null },
  { name: 'help', value: null },
];

async function main(words: readonly string[]): Promise<number> {
  const command = commands.find(({ name }) => name.split(' ').every((word, place) => words[place] === word));
  if (!command) return refuseOrHelp(words);
  const rest = words.slice(command.name.split(' ').length);
  if (rest.includes('--help') || rest.includes('-h')) return print(describeCommand(command));
  const given = readArguments(
    rest,
    [...(command.options ?? []), ...commonOptions],
    command.positionals ?? [],
  );
  const outcome =
    'run' in command ? await runOnDatabase(command, given) : await command.runLocally(readConfig(), given);
  if (outcome !== null) print(given.flag('json') ? JSON.stringify(outcome.json) : outcome.text);
  return outcome?.exitCode ?? 0;
}

async function runOnDatabase(command: DatabaseCommand, given: Arguments): Promise<Outcome> {
  const config = readConfig();
  const database = await openDatabase(config);
  try {
    await prepareSchema(database);
    return await command.run(database.sql, given, config, database.openDedicated);
  } finally {
    await database.close();
  }
}

/** A database that others use too is migrated by the gateway alone, when its operator puts a new version in place. */
async function prepareSchema({ sql, isEmbedded }: Database): Promise<void> {
  try {
    if (isEmbedded) await migrate(sql);
    else await requireMigrated(sql);
  } catch (error) {
    throw explainRefusal(error);
  }
}

function refuseOrHelp(words: readonly string[]): number {
  const [first] = words;
  if (first === undefined || first === '--help' || first === '-h' || first === 'help')
    return print(describeCommands(commands));
  if (first === '--version') return print(readVersion());
  const related = commands.filter((command) => command.name.startsWith(`${first} `));
  if (related.length > 0 && (words.length === 1 || words[1] === '--help'))
    return print(describeCommands(related));
  throw new UsageError(`There is no command "${words.filter((word) => !word.startsWith('-')).join(' ')}".`);
}

function readVersion(): string {
  const { version } = JSON.parse(readFileSync(join(import.meta.dir, '../../package.json'), 'utf8'));
  return `tollgate ${version}`;
}

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (error instanceof UsageError) {
    process.stderr.write(`tollgate: ${error.message} See: tollgate --help\n`);
    process.exitCode = 2;
  } else if (error instanceof OperatorError) {
    process.stderr.write(`tollgate: ${error.message}\n`);
    process.exitCode = 1;
  } else {
    throw error;
  }
}
