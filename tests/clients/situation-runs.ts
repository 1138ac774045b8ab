/** Brings an agent into a situation, and checks what it did, what it printed and what it was charged. */
import { join } from 'node:path';
import type { StoredEntry } from '../../sandbox/log.ts';
import type { Sandbox } from '../../sandbox/server.ts';
import { formatMoney, parseMoney } from '../../src/lib/money.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/gateway.ts';
import { type AgentRun, fileFlaw, runAgent } from './agent-program.ts';
import { type Agent, taskText } from './agents.ts';
import { priceOf } from './formats.ts';
import type { ClientGateway } from './gateway.ts';
import type { Situation } from './situations.ts';

/** `flaw` is null if everything was right. */
export type SituationResult = Readonly<{ flaw: string | null; printed: string }>;

export async function testSituation(
  agent: Agent,
  modules: string,
  gateway: ClientGateway,
  situation: Situation,
): Promise<SituationResult> {
  const { sandbox, origin } = gateway;
  const { model, credit, requestsPerMinute, retries, breaksOnce } = situation;
  const key = await gateway.createKey(situation.name, credit, requestsPerMinute);
  const path = join(temporaryFolder(), 'notes.txt');
  const before = sandbox.entries.length;
  const mend = breaksOnce ? breakSecondAnswer(sandbox, before) : () => undefined;
  const settings = { origin, key, model, retries };
  const run = await runAgent(agent, modules, situation.prompt(agent, path), settings).finally(mend);
  const entries = sandbox.entries.slice(before);
  const { spent, available, requests } = await lookUp(gateway, key);
  const flaw =
    runFlaw(agent, situation, run) ??
    fileFlaw(path, situation.written) ??
    requestsFlaw(agent, situation, requests) ??
    chargeFlaw(entries, situation, spent, available);
  return { flaw, printed: run.output };
}

/** Null if it ended by itself, with the right code and words. */
export function runFlaw(
  { name }: Pick<Agent, 'name'>,
  { written, printed }: Pick<Situation, 'written' | 'printed'>,
  { output, exitCode }: AgentRun,
): string | null {
  if (exitCode === null) return 'it did not end by itself';
  if ((exitCode === 0) !== (written === taskText.last)) return `it ended with ${exitCode}`;
  return printed[name]?.test(output) ? null : 'it printed something else';
}

export function requestsFlaw(
  { name }: Pick<Agent, 'name'>,
  { requests: expected }: Pick<Situation, 'requests'>,
  requests: string,
): string | null {
  return expected[name]?.test(requests) ? null : `its requests were: ${requests}`;
}

/** The account pays for what the sandbox logged, and for nothing else. */
export function chargeFlaw(
  entries: readonly Pick<StoredEntry, 'path' | 'usage'>[],
  { model, credit }: Pick<Situation, 'model' | 'credit'>,
  spent: string,
  available: string,
): string | null {
  const logged = entries.reduce(
    (sum, { path, usage }) => (usage === null ? sum : sum + priceOf(path, usage, model)),
    0n,
  );
  if (spent !== formatMoney(logged)) return `${spent} was charged instead of ${formatMoney(logged)}`;
  const rest = formatMoney((parseMoney(credit) ?? 0n) - logged);
  if (available !== rest || rest.startsWith('-')) return `${available} is left instead of ${rest}`;
  return null;
}

type KeyStatus = Readonly<{
  id: string;
  month: Readonly<{ spent: string; held: string }>;
  balance: Readonly<{ available: string }>;
}>;

type LogLine = Readonly<{ route?: string; keyId?: string; status?: number; code?: string }>;

/** What was charged, what is left, and what became of each request of the key, once all of that is known. */
async function lookUp({ origin, log }: ClientGateway, key: string) {
  const status = await eventually('the end of all requests', async () => {
    const response = await fetch(`${origin}/v1/key`, { headers: { authorization: `Bearer ${key}` } });
    const found = (await response.json()) as KeyStatus;
    return Number(found.month.held) === 0 ? found : null;
  });
  const lines = await eventually('the log of all requests', () => {
    const own = log()
      .split('\n')
      .filter((line) => line.includes(status.id))
      .map((line) => JSON.parse(line) as LogLine);
    // The lookup itself is logged after all that came before it.
    return own.some(({ route }) => route === '/v1/key') ? own : null;
  });
  const requests = lines
    .filter(({ route }) => route !== '/v1/key')
    .map(({ code, status: httpStatus }) => code ?? httpStatus)
    .join(' ');
  return { spent: status.month.spent, available: status.balance.available, requests };
}

const lookMs = 2;

/** Returns how to end it. */
function breakSecondAnswer(sandbox: Sandbox, before: number): () => void {
  const timer = setInterval(() => {
    const ended = sandbox.entries.slice(before).map((entry) => entry.ended);
    sandbox.directives = ended.length > 0 && !ended.includes('cut') ? '[[cut 3]]' : '';
  }, lookMs);
  return () => {
    clearInterval(timer);
    sandbox.directives = '';
  };
}
