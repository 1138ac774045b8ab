/** Runs an agent through every format of a provider, compares what it did and what it was charged, and reads what it says about errors. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StoredEntry } from '../../sandbox/log.ts';
import { temporaryFolder } from '../support/gateway.ts';
import { type Agent, taskText } from './agents.ts';
import { countsOf, formatModels, priceOf } from './formats.ts';
import type { ClientGateway } from './gateway.ts';

export type AgentResult = Readonly<{
  name: string;
  version: string;
  /** By format: null if everything was right, else what was not. */
  tasks: ReadonlyMap<string, string | null>;
  /** What it printed, by situation. */
  printed: ReadonlyMap<string, string>;
}>;

const maxRunMs = 120_000;
const cachedTokens = 700;

export async function testAgent(
  agent: Agent,
  modules: string,
  gateway: ClientGateway,
  print: (line: string) => void,
): Promise<AgentResult> {
  const tasks = new Map<string, string | null>();
  for (const [format, model] of Object.entries(formatModels)) {
    const flaw = await doTask(agent, modules, gateway, model).catch(String);
    tasks.set(format, flaw);
    print(`  ${format}: ${flaw ?? 'works'}`);
  }
  const printed = new Map<string, string>();
  for (const [
    situation,
    { model = formatModels['Chat completions'], key = gateway.key, prompt },
  ] of Object.entries(situations(gateway))) {
    const output = await runAgent(agent, modules, gateway, { model, key, prompt });
    printed.set(situation, output);
    print(`  ${situation}:\n${output.replaceAll(/^/gm, '    ')}`);
  }
  return { name: agent.name, version: agent.version, tasks, printed };
}

type Situation = Readonly<{ model?: string; key?: string; prompt: string }>;

/** What an agent's user may get into, in each of which it must tell what to do. */
function situations({ keyWithoutCredit, keyWithLimit }: ClientGateway): Readonly<Record<string, Situation>> {
  return {
    'no credit': { key: keyWithoutCredit, prompt: 'Hello' },
    'a limit of requests': { key: keyWithLimit, prompt: '[[tools 1]] Hello' },
    'a broken stream': { prompt: '[[long 20]] [[cut 3]] Hello' },
    'an unknown model': { model: 'no-such-model', prompt: 'Hello' },
  };
}

/** Null if the files, the answer and the charge are right, else what is not. */
async function doTask(
  agent: Agent,
  modules: string,
  gateway: ClientGateway,
  model: string,
): Promise<string | null> {
  const { sandbox, key } = gateway;
  const before = sandbox.entries.length;
  const faults = model === formatModels['a fallback'] ? ' [[fail-first 503]]' : '';
  const path = join(temporaryFolder(), 'notes.txt');
  const prompt = `${agent.task(path)} [[cached ${cachedTokens}]]${faults} Write the notes.`;
  const output = await runAgent(agent, modules, gateway, { model, key, prompt });
  const written = existsSync(path) ? readFileSync(path, 'utf8') : null;
  if (written !== `${taskText.last}\n`) return `the file has ${JSON.stringify(written)}: ${output}`;
  if (!/The tools returned: .*updated/s.test(output)) return `it printed: ${output}`;
  return await checkCharges(gateway, sandbox.entries.slice(before));
}

/** Every charge equals the price of the usage that the sandbox logged for it. */
async function checkCharges({ origin, key }: ClientGateway, entries: readonly StoredEntry[]) {
  let served = 0;
  for (const { client_request_id: id, path, usage } of entries) {
    if (usage === null) continue;
    served += 1;
    const response = await fetch(`${origin}/v1/generations/${id}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const { cost } = (await response.json()) as { cost?: { total: string } };
    const expected = priceOf(path, usage);
    if (cost?.total !== expected) return `${id} costs ${cost?.total} instead of ${expected}`;
    if (countsOf(path, usage).cached === 0) return `${id} has no cached tokens`;
  }
  return served < 3 ? `only ${served} requests were served` : null;
}

async function runAgent(
  { setUp }: Agent,
  modules: string,
  { origin }: ClientGateway,
  { model, key, prompt }: Required<Situation>,
): Promise<string> {
  const folder = temporaryFolder();
  const [home, work] = [join(folder, 'home'), join(folder, 'work')];
  mkdirSync(work);
  mkdirSync(home);
  const { program, words, environment } = setUp({ origin, key, model, home });
  const child = Bun.spawn([join(modules, 'node_modules/.bin', program), ...words, prompt], {
    cwd: work,
    env: { ...environment, PATH: process.env.PATH ?? '', HOME: home },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: maxRunMs,
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return `${stderr}${stdout}`.trim();
}
