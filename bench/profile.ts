/**
 * Where the gateway's time goes: runs it under Bun's sampling profiler with load on it and prints the functions
 * and files with the most self time. `bun bench/profile.ts [json|fast|paced] [SECONDS] [CONNECTIONS]`
 */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cpuMicroseconds } from './cpu.ts';
import { type CpuProfile, type SelfTimes, selfTimes } from './cpu-profile.ts';
import { Counts, warmUp } from './measure.ts';
import { minWarmUp } from './run.ts';
import { models } from './scenarios.ts';
import { startBench, subjectNamed } from './subjects.ts';
import { formatNumber, formatTable } from './table.ts';
import { withWorkshop } from './workshop.ts';

const intervalMicroseconds = 250;
const maxRows = 50;

const [kind = 'json', seconds = '8', connections = '64'] = process.argv.slice(2);
const model = Object.entries(models).find(([name]) => name === kind)?.[1];
if (model === undefined) throw new Error(`There is no load "${kind}": choose json, fast or paced.`);
const durationMs = Number(seconds) * 1000;

await withWorkshop(async (workshop) => {
  const profileFolder = join(workshop.folder, 'profile');
  mkdirSync(profileFolder);
  const bench = await startBench(workshop, {
    bunOptions: [
      '--cpu-prof',
      `--cpu-prof-dir=${profileFolder}`,
      `--cpu-prof-interval=${intervalMicroseconds}`,
    ],
  });
  const { load, gateway } = bench;
  const subject = subjectNamed(bench, 'gateway');
  const minRequests = model === models.json ? minWarmUp.requests : minWarmUp.streams;
  await warmUp(bench, subject, model, minRequests, new Counts());
  const { targets } = subject;
  await load.ask({ type: 'prepare', targets, model, connections: Number(connections), warmUpMs: 500 });
  const fromMs = Date.now();
  const cpuBefore = cpuMicroseconds(gateway.processId);
  const { completed, errors } = await load.ask({ type: 'run', durationMs });
  const cpuPerRequest = (cpuMicroseconds(gateway.processId) - cpuBefore) / completed;
  const toMs = Date.now();
  // The profile is written when the gateway ends.
  await gateway.stop();
  const file = readdirSync(profileFolder).find((name) => name.endsWith('.cpuprofile'));
  if (file === undefined) throw new Error('The gateway wrote no profile.');
  const profile = JSON.parse(readFileSync(join(profileFolder, file), 'utf8')) as CpuProfile;
  const { byFunction, byFile } = selfTimes(profile, intervalMicroseconds, fromMs, toMs);
  const total = byFunction.reduce((sum, [, time]) => sum + time, 0);
  const table = (title: string, times: SelfTimes) =>
    formatTable(
      ['share', 'µs per request', title],
      times
        .slice(0, maxRows)
        .map(([name, time]) => [
          `${formatNumber((time * 100) / total)} %`,
          formatNumber(time / completed),
          name,
        ]),
    );
  process.stdout.write(
    `${kind}, ${connections} connections: ${completed} requests, errors: ${JSON.stringify(errors)}\n` +
      `CPU ${formatNumber(cpuPerRequest)} µs per request in all threads, with the profiler; ` +
      `${formatNumber(total / completed)} µs of it in JavaScript and what it calls:\n\n` +
      `${table('function, by its own time', byFunction)}\n${table('file, with what it calls of the runtime', byFile)}\n`,
  );
});
