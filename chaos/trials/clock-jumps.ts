/**
 * Shifts the clock of one gateway while it works, and back again. Off by more than a minute it must admit nothing and say
 * so; off by less it must work as before.
 */

import type { Random } from '../random.ts';
import { boundsOf } from '../world/bounds.ts';
import { plainModel } from '../world/catalog.ts';
import type { GatewayNode } from '../world/gateway-node.ts';
import { call, type Seen } from './client-call.ts';
import { outputLimit } from './request-plan.ts';

export type ClockJump = Readonly<{
  node: number;
  shiftMs: number;
  /** What /readyz said of the clock while it was wrong; null when it never changed what it said. */
  said: string | null;
  /** Requests that were sent while it was wrong, and after it was right again. */
  during: readonly Seen[];
  after: readonly Seen[];
}>;

const minuteMs = 60_000;
const probes = 5;
const pollMs = 20;
const patienceMs = 30_000;
const askMs = 2_000;

export const isLarge = ({ shiftMs }: Pick<ClockJump, 'shiftMs'>) => Math.abs(shiftMs) > minuteMs;

/** Large and small in turn, forward or back. */
export function chooseShiftMs(number: number, random: Random): number {
  const seconds = number % 2 === 0 ? random.between(90, 3_000) : random.between(5, 50);
  return random.pick([-1, 1]) * seconds * 1_000;
}

export async function jumpClock(
  node: GatewayNode,
  key: string,
  number: number,
  shiftMs: number,
  beatMs: number,
): Promise<ClockJump> {
  const send = (when: string) =>
    Promise.all(
      Array.from({ length: probes }, (_, index) => call(node, key, probe(`j${number}-${when}${index}`))),
    );
  node.shiftClock(shiftMs);
  try {
    const said = isLarge({ shiftMs }) ? await whenOff(node) : await whileSteady(node, beatMs);
    const during = await send('during');
    node.shiftClock(0);
    await node.whenReady();
    return { node: node.index, shiftMs, said, during, after: await send('after') };
  } finally {
    node.shiftClock(0);
  }
}

async function whenOff(node: GatewayNode): Promise<string | null> {
  const deadline = performance.now() + patienceMs;
  while (performance.now() < deadline) {
    const said = await clockOf(node);
    if (said !== null) return said;
    await Bun.sleep(pollMs);
  }
  return null;
}

/** Waits as long as noticing would take. */
async function whileSteady(node: GatewayNode, beatMs: number): Promise<string | null> {
  await Bun.sleep(2 * beatMs);
  return await clockOf(node);
}

/** What it reports to be wrong with its clock. */
async function clockOf(node: GatewayNode): Promise<string | null> {
  try {
    const response = await fetch(`${node.origin}/readyz`, {
      keepalive: false,
      signal: AbortSignal.timeout(askMs),
    });
    const { clock } = (await response.json()) as { clock: string };
    return clock === 'right' ? null : `${response.status} ${clock}`;
  } catch {
    return null;
  }
}

function probe(token: string) {
  const content = `[[say ${token}]]`;
  return {
    token,
    kind: 'probe',
    keyName: 'rich',
    streaming: false,
    abortAfterMs: null,
    answer: token,
    bounds: boundsOf(content, outputLimit),
    body: { model: plainModel, max_tokens: outputLimit, messages: [{ role: 'user', content }] },
  };
}
