/** npm run chaos: see docs/chaos.md. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, readOptions, usage } from './options.ts';
import { type CommandResult, runWithManyConnections } from './program.ts';
import { formatPage, formatReport, isInTime, isTrue, timingsOf } from './report.ts';
import { runChaos } from './run.ts';

const page = join(import.meta.dir, '../docs/chaos.md');
/** How many bursts for each limit stand on the page that is written. */
const writtenRounds = 20;

async function main(words: readonly string[]): Promise<number> {
  let command: Command;
  try {
    command = readOptions(words);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`);
    return 2;
  }
  if (command.admissionRounds !== null) {
    const burst = await admit(command.admissionRounds, command.chaos.seed);
    return burst.exitCode;
  }
  if (command.retriedNames !== null) {
    const retries = await printed('retries.ts', ['--names', `${command.retriedNames}`]);
    return retries.exitCode;
  }
  const result = await runChaos(command.chaos);
  console.log(formatReport(result));
  const isGood = result.findings.every(isTrue) && timingsOf(result).every(isInTime);
  if (isGood) result.remove();
  else console.log(`The logs of this run are in ${result.folder}`);
  if (!command.write) return isGood ? 0 : 1;
  const burst = await admit(writtenRounds, command.chaos.seed);
  const text = readFileSync(page, 'utf8');
  writeFileSync(page, formatPage(text, result, burst.stdout, commandLine(words), new Date()));
  return isGood ? burst.exitCode : 1;
}

function admit(rounds: number, seed: number): Promise<CommandResult> {
  return printed('admission.ts', ['--rounds', `${rounds}`, '--seed', `${seed}`]);
}

/** In a process of its own, which may open as many connections as it needs. */
async function printed(program: string, words: readonly string[]): Promise<CommandResult> {
  const result = await runWithManyConnections(program, words);
  console.log(result.stdout + result.stderr);
  return result;
}

function commandLine(words: readonly string[]): string {
  return ['npm run chaos --', ...words].join(' ');
}

process.exitCode = await main(process.argv.slice(2));
