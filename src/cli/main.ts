/** The `tollgate` command line: finds the command, runs it and prints its outcome. */
import { type Config, readConfig } from '../config.ts';
import { type Database, openExistingDatabase } from '../database/connection.ts';
import { explainDatabaseError } from '../database/explain.ts';
import { migrate, requireMigrated } from '../database/migrate.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { softwareVersion } from '../lib/software-version.ts';
import { accountCommands } from './account-commands.ts';
import { type Arguments, type OptionSpec, readArguments, UsageError } from './arguments.ts';
import { backupCommands } from './backup-commands.ts';
import { catalogCommands } from './catalog-commands.ts';
import { codeCommands } from './code-commands.ts';
import {
  type Command,
  type DatabaseCommand,
  describeCommand,
  describeCommands,
  type LocalCommand,
  type Outcome,
} from './command.ts';
import { doctorCommands } from './doctor-commands.ts';
import { exportCommands } from './export-commands.ts';
import { grantCommands } from './grant-commands.ts';
import { importCommands } from './import-commands.ts';
import { keyCommands } from './key-commands.ts';
import { ledgerCommands } from './ledger-commands.ts';
import { limitCommands } from './limit-commands.ts';
import { migrateCommand } from './migrate-command.ts';
import { movementCommands } from './movement-commands.ts';
import { reconcileCommand } from './reconcile-command.ts';
import { tokenCommands } from './token-commands.ts';
import { userCommands } from './user-commands.ts';
import { webhookCommands } from './webhook-commands.ts';

const serve: LocalCommand = {
  name: 'serve',
  summary: 'Run the gateway until it is told to stop.',
  runLocally: async (config) => {
    // The other commands start faster without loading the gateway.
    const gateway = await import('../main.ts');
    await gateway.serve(config);
    return null;
  },
};

const commands: readonly Command[] = [
  serve,
  migrateCommand,
  ...doctorCommands,
  ...accountCommands,
  ...movementCommands,
  ...grantCommands,
  ...codeCommands,
  ...keyCommands,
  ...limitCommands,
  ...userCommands,
  ...tokenCommands,
  ...webhookCommands,
  ...catalogCommands,
  ...ledgerCommands,
  reconcileCommand,
  ...importCommands,
  ...exportCommands,
  ...backupCommands,
];
const commonOptions: readonly OptionSpec[] = [
  { name: 'json', value: null },
  { name: 'help', value: null },
];

async function main(words: readonly string[]): Promise<number> {
  const command = findCommand(words);
  if (!command) return helpOrFail(words);
  const rest = words.slice(command.name.split(' ').length);
  if (rest.includes('--help') || rest.includes('-h')) return print(describeCommand(command));
  const given = readArguments(
    rest,
    [...(command.options ?? []), ...commonOptions],
    command.positionals ?? [],
  );
  const outcome = await run(command, given);
  for (const warning of outcome?.warnings ?? []) process.stderr.write(`tollgate: warning: ${warning}\n`);
  if (outcome !== null) print(given.flag('json') ? JSON.stringify(outcome.json) : outcome.text);
  return outcome?.exitCode ?? 0;
}

function findCommand(words: readonly string[]): Command | undefined {
  return commands.find(({ name }) => name.split(' ').every((word, place) => words[place] === word));
}

async function run(command: Command, given: Arguments): Promise<Outcome | null> {
  if ('run' in command) return await runOnDatabase(command, given);
  return 'runLocally' in command
    ? await command.runLocally(readConfig(), given)
    : await command.runUnconfigured(given);
}

async function runOnDatabase(command: DatabaseCommand, given: Arguments): Promise<Outcome | null> {
  const config = readConfig();
  const database = await openExistingDatabase(config);
  try {
    await prepareSchema(database, config);
    return await command.run(database.sql, given, config, database.openDedicated, database.reads);
  } finally {
    await database.close();
  }
}

/** A shared database is migrated only by `serve` and `migrate`, when the operator deploys a new version. */
async function prepareSchema({ sql, isEmbedded }: Database, config: Config): Promise<void> {
  try {
    if (isEmbedded) await migrate(sql);
    else await requireMigrated(sql);
  } catch (error) {
    throw explainDatabaseError(error, config);
  }
}

function helpOrFail(words: readonly string[]): number {
  const [first] = words;
  if (first === undefined || first === '--help' || first === '-h' || first === 'help')
    return print(describeCommands(commands));
  if (first === '--version') return print(`tollgate ${softwareVersion}`);
  const related = commands.filter((command) => command.name.startsWith(`${first} `));
  if (related.length > 0 && (words.length === 1 || words[1] === '--help'))
    return print(describeCommands(related));
  throw new UsageError(`There is no command "${words.filter((word) => !word.startsWith('-')).join(' ')}".`);
}

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}

// The reader may stop early, as in `tollgate serve | head -1`. That is no reason to stop a gateway or to print a trace.
process.stdout.on('error', () => undefined);

const words = process.argv.slice(2);
// Not awaited: Bun keeps bytecode of CommonJS only, which has no await at the top of a module.
main(words).then(
  (exitCode) => {
    process.exitCode = exitCode;
  },
  (error: unknown) => {
    process.exitCode = explain(error);
  },
);

/** Prints why a command failed; returns the exit code. */
function explain(error: unknown): number {
  if (error instanceof UsageError) {
    const about = findCommand(words)?.name;
    process.stderr.write(
      `tollgate: ${error.message} See: tollgate ${about === undefined ? '' : `${about} `}--help\n`,
    );
    return 2;
  }
  if (!(error instanceof OperatorError)) throw error;
  process.stderr.write(`tollgate: ${error.message}\n`);
  return 1;
}
