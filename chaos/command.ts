/** Runs what the command line asks for, and prints the result. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runExpectations } from './expect/run.ts';
import { formatHostileReport } from './hostile/report.ts';
import { type HostileOptions, runHostile } from './hostile/run.ts';
import { formatPage, formatReport, isInTime, isTrue, type Section, timingsOf } from './judge/report.ts';
import { type Command, readOptions, usage } from './options.ts';
import { runChaos } from './run.ts';
import { maxRunMs } from './time-limit.ts';
import type { ChaosOptions } from './trials/options.ts';
import { type CommandResult, type ProgramName, runWithManyConnections } from './world/program.ts';

const page = join(import.meta.dir, '../docs/chaos.md');
/** The length of the streams that have to survive a rolling restart, on the page that is written. */
const writtenStreamSeconds = 60;
/** How many bursts for each limit the written page has. */
const writtenRounds = 20;

export async function runCommand(words: readonly string[]): Promise<number> {
  let command: Command;
  try {
    command = readOptions(words);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`);
    return 2;
  }
  const write = (section: Section, report: string, postgresVersion: string) => {
    if (!command.write) return;
    const text = readFileSync(page, 'utf8');
    writeFileSync(page, formatPage(text, section, report, commandLine(words), postgresVersion, new Date()));
  };
  const { chaos, hostile, confirmationRounds, admissionRounds, retriedNames, rollingStreamSeconds } = command;
  const { expectations, earlyCallRounds } = command;
  if (expectations !== null) return await runExpectations(expectations.names, expectations.form);
  if (rollingStreamSeconds !== null) return (await restartAll(rollingStreamSeconds)).exitCode;
  if (admissionRounds !== null) return (await admit(admissionRounds, chaos.seed)).exitCode;
  if (earlyCallRounds !== null) return (await beginEarly(earlyCallRounds)).exitCode;
  if (retriedNames !== null) return (await printed('retries', ['--names', `${retriedNames}`])).exitCode;
  if (confirmationRounds !== null)
    return (await printed('confirmations', ['--rounds', `${confirmationRounds}`])).exitCode;
  return hostile === null
    ? await killAndJudge(chaos, command.write, write)
    : await sendAndJudge(hostile, write);
}

type Write = (section: Section, report: string, postgresVersion: string) => void;

async function killAndJudge(options: ChaosOptions, isWritten: boolean, write: Write): Promise<number> {
  const result = await withinTime(maxRunMs(options), runChaos(options));
  const report = formatReport(result);
  console.log(report);
  const isGood = result.truths.every(isTrue) && timingsOf(result).every(isInTime);
  if (isGood) result.remove();
  else console.log(`The logs of this run are in ${result.folder}`);
  if (!isWritten) return isGood ? 0 : 1;
  const burst = await admit(writtenRounds, options.seed);
  const rolling = await restartAll(writtenStreamSeconds);
  write('Last run', `${report}\n\n${burst.stdout}\n${rolling.stdout}`, result.postgresVersion);
  return isGood ? burst.exitCode || rolling.exitCode : 1;
}

/** The signal that a person would send ends every process of the run, and then this one. */
async function withinTime<Result>(ms: number, run: Promise<Result>): Promise<Result> {
  const timer = setTimeout(() => {
    console.error(
      `The run is ended: it has taken ${Math.round(ms / 1000)} s, more than its numbers explain.`,
    );
    process.kill(process.pid, 'SIGTERM');
  }, ms);
  try {
    return await run;
  } finally {
    clearTimeout(timer);
  }
}

async function sendAndJudge(options: HostileOptions, write: Write): Promise<number> {
  const result = await runHostile(options);
  const report = formatHostileReport(result);
  console.log(report);
  const isGood = result.truths.every(isTrue);
  if (isGood) result.remove();
  else console.log(`The logs of this run are in ${result.folder}`);
  write('Last hostile run', report, result.postgresVersion);
  return isGood ? 0 : 1;
}

function admit(rounds: number, seed: number): Promise<CommandResult> {
  return printed('admission', ['--rounds', `${rounds}`, '--seed', `${seed}`]);
}

function beginEarly(rounds: number): Promise<CommandResult> {
  return printed('early-calls', ['--rounds', `${rounds}`]);
}

function restartAll(streamSeconds: number): Promise<CommandResult> {
  return printed('rolling', ['--stream-seconds', `${streamSeconds}`]);
}

/** In its own process, which may open as many connections as it needs. */
async function printed(program: ProgramName, words: readonly string[]): Promise<CommandResult> {
  const result = await runWithManyConnections(program, words);
  console.log(result.stdout + result.stderr);
  return result;
}

function commandLine(words: readonly string[]): string {
  return ['npm run chaos --', ...words].join(' ');
}
