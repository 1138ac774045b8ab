/**
 * npm run test:clients [-- PART-OF-A-NAME …] [--write]
 *
 * Points real clients at a gateway with the sandbox, and prints what works. It installs them from their registries, in a
 * folder that stays for the next run (.clients). It fails if anything fails that the contract does not reject.
 * --write puts the rows of these clients into the tables of docs/clients.md, and leaves the others as they are.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AgentResult, testAgent } from '../tests/clients/agent-runs.ts';
import { type Agent, agents } from '../tests/clients/agents.ts';
import { readArguments } from '../tests/clients/arguments.ts';
import { type Client, clients, notRun } from '../tests/clients/clients.ts';
import { clientEnvironment, openClientGateway, runScript } from '../tests/clients/gateway.ts';
import { type Generator, generators } from '../tests/clients/generated.ts';
import {
  agentTasks,
  furtherChecks,
  type Generated,
  generatedClients,
  matrix,
  merged,
  type Result,
  replaced,
} from '../tests/clients/matrix.ts';
import { confirmed, isExplained } from '../tests/clients/outcome.ts';
import { missingFor, prepare, prepareNode } from '../tests/clients/prepare.ts';

const { isWritten, isWanted } = readArguments(process.argv.slice(2));

const startedOn = new Date().toISOString().slice(0, 10);
const results: Result[] = [];
const agentResults: AgentResult[] = [];
const generated: Generated[] = [];
const problems: string[] = [];
const gateway = await openClientGateway();
try {
  for (const client of clients.filter(({ name }) => isWanted(name))) await test(client);
  for (const agent of agents.filter(({ name }) => isWanted(name))) await runAgent(agent);
  for (const generator of generators.filter(({ name }) => isWanted(name))) testGenerator(generator);
} finally {
  await gateway.close();
}

const tables = {
  'the matrix': matrix(results, startedOn),
  'the agents': agentTasks(agentResults, startedOn),
  'generated clients': generatedClients(generated),
  'further checks': furtherChecks(results),
};
print(`\n${Object.values(tables).join('\n\n')}\n`);
for (const { name, reason } of notRun.filter((one) => isWanted(one.name)))
  print(`${name}: not run: ${reason}`);
if (isWritten) {
  const file = join(import.meta.dir, '../docs/clients.md');
  let text = readFileSync(file, 'utf8');
  const names = [...clients, ...agents, ...generators].map(({ name }) => name);
  for (const [mark, table] of Object.entries(tables))
    text = replaced(text, mark, (old) => merged(old, table, names));
  writeFileSync(file, text);
}
for (const problem of problems) print(`\n${problem}`);
print(problems.length === 0 ? '\nEverything works or is explained.' : `\n${problems.length} failed.`);
process.exit(problems.length === 0 ? 0 : 1);

async function test(client: Client): Promise<void> {
  const missing = missingFor(client.language);
  print(`${client.name}${missing === null ? ' …' : `: not run: ${missing}`}`);
  if (missing !== null) return;
  try {
    const { entries } = gateway.sandbox;
    const before = entries.length;
    const { outcomes: reported, version } = await runScript(
      prepare(client),
      client,
      clientEnvironment(gateway),
    );
    const outcomes = confirmed(
      reported,
      entries.slice(before).map(({ body }) => body),
    );
    results.push({ name: client.name, version, outcomes });
    for (const outcome of outcomes.filter((one) => !isExplained(one)))
      problems.push(`${client.name}, ${outcome.check}: ${outcome.detail} ${outcome.param ?? ''}`);
  } catch (error) {
    problems.push(`${client.name}: ${error}`);
  }
}

async function runAgent(agent: Agent): Promise<void> {
  const missing = missingFor('node');
  print(`${agent.name}${missing === null ? ' …' : `: not run: ${missing}`}`);
  if (missing !== null) return;
  const result = await testAgent(agent, prepareNode(), gateway, print);
  agentResults.push(result);
  for (const [what, flaw] of [...result.tasks, ...result.situations])
    if (flaw !== null) problems.push(`${agent.name}, ${what}: ${flaw}`);
}

function testGenerator({ name, version, missing, generate }: Generator): void {
  const reason = missing();
  print(`${name}${reason === null ? ' …' : `: not run: ${reason}`}`);
  if (reason !== null) return;
  try {
    const result = generate(gateway);
    generated.push({ name, version, result });
  } catch (error) {
    generated.push({ name, version, result: '**failed**' });
    problems.push(`${name}: ${error}`);
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
