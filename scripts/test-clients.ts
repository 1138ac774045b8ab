/**
 * npm run test:clients [-- PART-OF-A-NAME …] [--write]
 *
 * Points real clients at a gateway with the sandbox, and prints what works. It installs them from their registries, in a
 * folder that stays for the next run (.clients). It fails when something fails that the contract does not reject.
 * --write puts the tables into docs/clients.md, with the last results of clients that were not run this time.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, clients, notRun } from '../tests/clients/clients.ts';
import { clientEnvironment, openClientGateway, runScript } from '../tests/clients/gateway.ts';
import { generators } from '../tests/clients/generated.ts';
import { furtherChecks, matrix, type Result, replaced } from '../tests/clients/matrix.ts';
import { isExplained } from '../tests/clients/outcome.ts';
import { missingFor, prepare } from '../tests/clients/prepare.ts';
import { lastResults, remember } from '../tests/clients/results.ts';

const words = process.argv.slice(2);
const isWritten = words.includes('--write');
const wanted = words.filter((word) => word !== '--write');
const isWanted = (name: string) => wanted.length === 0 || wanted.some((word) => name.includes(word));

const results: Result[] = [];
const problems: string[] = [];
const gateway = await openClientGateway();
try {
  for (const client of clients.filter(({ name }) => isWanted(name))) await test(client);
  for (const { name, generate } of generators.filter((generator) => isWanted(generator.name))) {
    print(`${name} …`);
    try {
      print(`  ${generate(gateway)}`);
    } catch (error) {
      problems.push(`${name}: ${error}`);
    }
  }
} finally {
  await gateway.close();
}

print(`\n${matrix(results)}\n\n${furtherChecks(results)}\n`);
for (const { name, reason } of notRun.filter((one) => isWanted(one.name)))
  print(`${name}: not run: ${reason}`);
if (isWritten) {
  const file = join(import.meta.dir, '../docs/clients.md');
  const all = lastResults();
  const text = replaced(readFileSync(file, 'utf8'), 'the matrix', matrix(all));
  writeFileSync(file, replaced(text, 'further checks', furtherChecks(all)));
}
for (const problem of problems) print(`\n${problem}`);
print(problems.length === 0 ? '\nEverything works or is explained.' : `\n${problems.length} failed.`);
process.exit(problems.length === 0 ? 0 : 1);

async function test(client: Client): Promise<void> {
  const missing = missingFor(client);
  print(`${client.name}${missing === null ? ' …' : `: not run: ${missing}`}`);
  if (missing !== null) return;
  try {
    const { outcomes, version } = await runScript(prepare(client), client, clientEnvironment(gateway));
    const result = { name: client.name, version, outcomes };
    results.push(result);
    remember(result);
    for (const outcome of outcomes.filter((one) => !isExplained(one)))
      problems.push(`${client.name}, ${outcome.check}: ${outcome.detail} ${outcome.param ?? ''}`);
  } catch (error) {
    problems.push(`${client.name}: ${error}`);
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
