/** The commands of `tollgate` in this process: starting the program for each takes half a second. */
import { SQL } from 'bun';
import { accountCommands } from '../../src/cli/account-commands.ts';
import { readArguments } from '../../src/cli/arguments.ts';
import { backupCommands } from '../../src/cli/backup-commands.ts';
import { catalogCommands } from '../../src/cli/catalog-commands.ts';
import { codeCommands } from '../../src/cli/code-commands.ts';
import type { DatabaseCommand, Outcome } from '../../src/cli/command.ts';
import { exportCommands } from '../../src/cli/export-commands.ts';
import { grantCommands } from '../../src/cli/grant-commands.ts';
import { importCommands } from '../../src/cli/import-commands.ts';
import { keyCommands } from '../../src/cli/key-commands.ts';
import { ledgerCommands } from '../../src/cli/ledger-commands.ts';
import { limitCommands } from '../../src/cli/limit-commands.ts';
import { migrateCommand } from '../../src/cli/migrate-command.ts';
import { movementCommands } from '../../src/cli/movement-commands.ts';
import { reconcileCommand } from '../../src/cli/reconcile-command.ts';
import { tokenCommands } from '../../src/cli/token-commands.ts';
import { userCommands } from '../../src/cli/user-commands.ts';
import { webhookCommands } from '../../src/cli/webhook-commands.ts';
import { readConfig } from '../../src/config.ts';
import type { Environment } from './gateway.ts';

const commands = [
  ...accountCommands,
  ...movementCommands,
  ...grantCommands,
  ...codeCommands,
  ...keyCommands,
  ...limitCommands,
  ...ledgerCommands,
  ...userCommands,
  ...tokenCommands,
  ...webhookCommands,
  ...backupCommands,
  ...importCommands,
  ...catalogCommands,
  ...exportCommands,
  migrateCommand,
  reconcileCommand,
];

/** What the command prints with --json. Throws what the program would report. */
export async function runCommand<Output>(
  words: readonly string[],
  environment: Environment,
): Promise<Output> {
  const { json } = await outcomeOf(words, environment);
  return JSON.parse(JSON.stringify(json)) as Output;
}

/** Also returns the text and the exit code. */
export async function outcomeOf(words: readonly string[], environment: Environment): Promise<Outcome> {
  const command = commands.find(({ name }) => `${words.join(' ')} `.startsWith(`${name} `));
  if (command === undefined) throw new Error(`tollgate ${words.join(' ')} cannot be run in this process.`);
  const rest = words.slice(command.name.split(' ').length);
  const given = readArguments(rest, command.options ?? [], command.positionals ?? []);
  const config = readConfig({ ...environment });
  if ('run' in command) return await runOnDatabase(command, given, config);
  return (await command.runLocally(config, given)) ?? { json: null, text: '' };
}

async function runOnDatabase(
  command: DatabaseCommand,
  given: Parameters<DatabaseCommand['run']>[1],
  config: Parameters<DatabaseCommand['run']>[2],
): Promise<Outcome> {
  const { databaseUrl } = config;
  if (databaseUrl === null) throw new Error(`tollgate ${command.name} needs a DATABASE_URL in a test.`);
  const open = () => new SQL(databaseUrl, { max: 1, bigint: true });
  const sql = open();
  try {
    return (await command.run(sql, given, config, open, () => sql)) ?? { json: null, text: '' };
  } finally {
    await sql.close();
  }
}
