/** Runs an agent through every format of a provider and through everything that can go wrong, and compares what it did and was charged. */
import { join } from 'node:path';
import type { StoredEntry } from '../../sandbox/log.ts';
import { formatMoney } from '../../src/lib/money.ts';
import { temporaryFolder } from '../support/gateway.ts';
import { fileFlaw, runAgent } from './agent-program.ts';
import { type Agent, taskText } from './agents.ts';
import { countsOf, formatModels, priceOf } from './formats.ts';
import type { ClientGateway } from './gateway.ts';
import { testSituation } from './situation-runs.ts';
import { situations } from './situations.ts';

export type AgentResult = Readonly<{
  name: string;
  version: string;
  /** By format: null if everything was right, else what was not. */
  tasks: ReadonlyMap<string, string | null>;
  /** The same by situation. */
  situations: ReadonlyMap<string, string | null>;
}>;

const cachedTokens = 700;

export async function testAgent(
  agent: Agent,
  modules: string,
  gateway: ClientGateway,
  print: (line: string) => void,
): Promise<AgentResult> {
  const tasks = new Map<string, string | null>();
  for (const format of Object.keys(formatModels) as (keyof typeof formatModels)[]) {
    const flaw = await doTask(agent, modules, gateway, format).catch(String);
    tasks.set(format, flaw);
    print(`  ${format}: ${flaw ?? 'works'}`);
  }
  const flaws = new Map<string, string | null>();
  for (const situation of agent.isVariant ? [] : situations) {
    const { flaw, printed } = await testSituation(agent, modules, gateway, situation);
    flaws.set(situation.name, flaw);
    print(`  ${situation.name}: ${flaw ?? 'as expected'}\n${printed.replaceAll(/^/gm, '    ')}`);
  }
  return { name: agent.name, version: agent.version, tasks, situations: flaws };
}

/** Null if the files, the answer and the charge are right, else what is not. */
async function doTask(
  agent: Agent,
  modules: string,
  gateway: ClientGateway,
  format: keyof typeof formatModels,
): Promise<string | null> {
  const { sandbox, origin, key } = gateway;
  const before = sandbox.entries.length;
  const model = `${agent.modelPrefix}${formatModels[format]}`;
  const faults = format === 'a fallback' ? ' [[fail-first 503]]' : '';
  const path = join(temporaryFolder(), 'notes.txt');
  const task = agent.task(path, format === 'Responses');
  const prompt = `${task} [[cached ${cachedTokens}]]${faults} Write the notes.`;
  const { output } = await runAgent(agent, modules, prompt, { origin, key, model, retries: false });
  const flaw = fileFlaw(path, taskText.last);
  if (flaw !== null) return `${flaw}: ${output}`;
  if (!/The tools returned: .*updated/is.test(output)) return `it printed: ${output}`;
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
    const expected = formatMoney(priceOf(path, usage));
    if (cost?.total !== expected) return `${id} costs ${cost?.total} instead of ${expected}`;
    if (countsOf(path, usage).cached === 0) return `${id} has no cached tokens`;
  }
  return served < 3 ? `only ${served} requests were served` : null;
}
