/**
 * The network between the gateways and a provider, failing in one way after another, and which requests it affected: it
 * looks for the request ID that the gateways send along.
 */
import { appendFileSync } from 'node:fs';
import type { Random } from '../random.ts';
import type { Fault, FaultKind } from './fault.ts';
import { type Observer, startFaultProxy } from './fault-proxy.ts';
import type { Counters, Target } from './relay.ts';

export type NetworkLog = Readonly<{
  /** How often each fault was put in force. */
  played: ReadonlyMap<FaultKind, number>;
  /** How many open connections a new fault hit as well. */
  struck: number;
  /** What was done to the answer to each request, by request ID. */
  harmed: ReadonlyMap<string, ReadonlySet<FaultKind>>;
  counters: Readonly<Counters>;
}>;

export type BadNetwork = Readonly<{
  host: string;
  port: number;
  /** One fault after another until it is told to stop; then the network is good again. */
  play: (random: Random) => { stop: () => Promise<void> };
  log: () => NetworkLog;
  close: () => Promise<void>;
}>;

/**
 * Played in random order, each once before any is repeated, so that a short run misses none. The network is good for some
 * of the time: circuits must close again, and answers come through.
 */
const kinds: readonly FaultKind[] = [
  'none',
  'none',
  'none',
  'delay',
  'cut',
  'reset',
  'black-hole',
  'drip',
  'refuse',
];

/** Whole answers of a run are up to some thousands of bytes long. */
const maxBytes = 3_000;

export async function startBadNetwork(target: Target, logFile: string): Promise<BadNetwork> {
  const played = new Map<FaultKind, number>();
  const harmed = new Map<string, Set<FaultKind>>();
  const proxy = await startFaultProxy(target, observeRequests(harmed));
  let struck = 0;

  function apply(fault: Fault, isStrike: boolean): void {
    proxy.fault = fault;
    const count = isStrike ? proxy.strike() : 0;
    struck += count;
    // For finding out what happened around a request.
    appendFileSync(logFile, `${JSON.stringify({ at: new Date().toISOString(), fault, struck: count })}\n`);
  }

  async function playUntil(isOver: () => boolean, random: Random): Promise<void> {
    const deck: FaultKind[] = [];
    while (!isOver()) {
      if (deck.length === 0) deck.push(...shuffled(kinds, random));
      const fault = chooseFault(deck.pop() ?? 'none', random);
      played.set(fault.kind, (played.get(fault.kind) ?? 0) + 1);
      apply(fault, random.happens(0.5));
      await Bun.sleep(random.between(300, 1_200));
    }
    apply({ kind: 'none' }, true);
  }

  return {
    host: proxy.host,
    port: proxy.port,
    play: (random) => {
      let isOver = false;
      const playing = playUntil(() => isOver, random);
      return {
        stop: async () => {
          isOver = true;
          await playing;
        },
      };
    },
    log: () => ({ played, struck, harmed, counters: proxy.counters }),
    close: proxy.close,
  };
}

function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  const left = [...items];
  return items.flatMap(() => left.splice(random.between(0, left.length - 1), 1));
}

function chooseFault(kind: FaultKind, random: Random): Fault {
  switch (kind) {
    case 'none':
    case 'refuse':
      return { kind };
    case 'delay':
      return { kind, delayMs: random.between(20, 1_500) };
    case 'drip':
      return { kind, everyMs: random.pick([1, 5, 1_000]) };
    case 'cut':
    case 'reset':
    case 'black-hole':
      return { kind, afterBytes: random.happens(0.25) ? 0 : random.between(1, maxBytes) };
  }
}

/** A header may arrive in two pieces: this much of the first is searched again with the second. */
const maxHeader = 200;

function observeRequests(harmed: Map<string, Set<FaultKind>>): Observer {
  const connections = new Map<number, { tail: string; requestId: string | null }>();
  return {
    onRequest: (connection, bytes) => {
      const before = connections.get(connection);
      const text = (before?.tail ?? '') + bytes.toString('latin1');
      const last = [...text.matchAll(/x-client-request-id: *(\S+)\r\n/gi)].at(-1)?.[1];
      const requestId = last ?? before?.requestId ?? null;
      connections.set(connection, { tail: text.slice(-maxHeader), requestId });
    },
    onFault: (connection, kind) => {
      const requestId = connections.get(connection)?.requestId ?? null;
      if (requestId === null) return;
      harmed.set(requestId, (harmed.get(requestId) ?? new Set()).add(kind));
    },
  };
}
