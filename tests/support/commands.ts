/** The commands of `tollgate` in this process: starting the program for each takes half a second. */
import { SQL } from 'bun';
import { accountCommands } from '../../src/cli/account-commands.ts';
import { readArguments } from '../../src/cli/arguments.ts';
import { keyCommands } from '../../src/cli/key-commands.ts';
import { ledgerCommands } from '../../src/cli/ledger-commands.ts';
import { userCommands } from '../../src/cli/user-commands.ts';
import { readConfig } from '../../src/config.ts';
import type { Environment } from './gateway.ts';

const commands = [...accountCommands, ...keyCommands, ...ledgerCommands, ...userCommands];

/** What the command prints with --json. Throws what the program would report. */
export async function runCommand<Output>(
  words: readonly string[],
  environment: Environment,
): Promise<Output> {
  const command = commands.find(({ name }) => name === words.slice(0, 2).join(' '));
  const url = environment.DATABASE_URL;
  if (command === undefined || url === undefined)
    throw new Error(`tollgate ${words.join(' ')} cannot be run in this process.`);
  const given = readArguments(words.slice(2), command.options ?? [], command.positionals ?? []);
  const open = () => new SQL(url, { max: 1, bigint: true });
  const sql = open();
  try {
    const { json } = await command.run(sql, given, readConfig({ ...environment }), open);
    return JSON.parse(JSON.stringify(json)) as Output;
  } finally {
    await sql.close();
  }
}
