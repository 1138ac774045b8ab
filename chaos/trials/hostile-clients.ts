/** Hostile clients, as many as a loopback allows, each repeating one thing until told to stop. */
import { connect } from 'node:net';
import { generateKey } from '../../src/keys/key-format.ts';
import { plainModel } from '../world/catalog.ts';
import type { GatewayNode } from '../world/gateway-node.ts';
import { call, type Seen } from './client-call.ts';

export type HostileKeys = Readonly<{
  /** Of an account without a balance. */
  broke: string;
  /** Of an account with one. */
  funded: string;
}>;

export type HostileLog = Readonly<{
  /** How often each thing got which response. */
  answers: ReadonlyMap<string, number>;
  /** The requests that may have reached a provider. */
  seen: readonly Seen[];
}>;

type Deed = Readonly<{
  name: string;
  clients: number;
  pauseMs: number;
  once: (attack: Attack) => Promise<string>;
}>;

const slowBodyBytes = 1_000_000;
const slowByteMs = 100;
const oversizedBytes = 25_000_000;
const deepBytes = 4_000_000;

const deeds: readonly Deed[] = [
  {
    name: 'requests without a balance',
    clients: 6,
    pauseMs: 0,
    once: (attack) => attack.send(attack.keys.broke, plain('hi')),
  },
  {
    name: 'idempotency keys without a balance',
    clients: 3,
    pauseMs: 0,
    once: (attack) => attack.send(attack.keys.broke, plain('hi'), `flood-${attack.round}-${attack.count}`),
  },
  {
    name: 'unknown keys',
    clients: 4,
    pauseMs: 0,
    once: (attack) => attack.send(generateKey(), plain('hi')),
  },
  {
    name: 'replays',
    clients: 2,
    pauseMs: 0,
    once: (attack) =>
      attack.send(attack.keys.funded, plain(`[[say again-${attack.round}]]`), `replay-${attack.round}`),
  },
  {
    name: 'deep bodies',
    clients: 1,
    pauseMs: 500,
    once: (attack) => attack.send(attack.keys.broke, '['.repeat(deepBytes)),
  },
  { name: 'slow bodies', clients: 20, pauseMs: 0, once: (attack) => attack.sendSlowly(slowBodyBytes) },
  { name: 'oversized bodies', clients: 4, pauseMs: 100, once: (attack) => attack.sendSlowly(oversizedBytes) },
  { name: 'abandoned streams', clients: 4, pauseMs: 0, once: (attack) => attack.abandon() },
];

export function startHostileClients(
  nodes: readonly GatewayNode[],
  keys: HostileKeys,
  round: number,
): { stop: () => Promise<HostileLog> } {
  const attack = new Attack(nodes, keys, round);
  const answers = new Map<string, number>();

  async function keepDoing({ name, pauseMs, once }: Deed): Promise<void> {
    while (!attack.isOver) {
      const answer = await once(attack).catch(() => 'no answer');
      const line = `${name}: ${answer}`;
      answers.set(line, (answers.get(line) ?? 0) + 1);
      if (pauseMs > 0) await Bun.sleep(pauseMs);
    }
  }

  const doing = Promise.all(
    deeds.flatMap((deed) => Array.from({ length: deed.clients }, () => keepDoing(deed))),
  );
  return {
    stop: async () => {
      attack.isOver = true;
      await doing;
      return { answers, seen: attack.seen };
    },
  };
}

/** What they can do, each time on the next gateway. Resolves with the response. */
class Attack {
  readonly keys: HostileKeys;
  readonly round: number;
  readonly seen: Seen[] = [];
  /** How often a gateway was called. */
  count = 0;
  isOver = false;
  readonly #nodes: readonly GatewayNode[];

  constructor(nodes: readonly GatewayNode[], keys: HostileKeys, round: number) {
    this.#nodes = nodes;
    this.keys = keys;
    this.round = round;
  }

  async send(key: string, body: string, idempotencyKey?: string): Promise<string> {
    const headers = new Headers({ authorization: `Bearer ${key}`, 'content-type': 'application/json' });
    if (idempotencyKey !== undefined) headers.set('idempotency-key', idempotencyKey);
    const response = await fetch(`${this.#nextNode().origin}/v1/chat/completions`, {
      method: 'POST',
      headers,
      body,
      signal: AbortSignal.timeout(30_000),
    });
    await response.arrayBuffer();
    return `${response.status}`;
  }

  /** The body never ends, and nobody else may notice. */
  sendSlowly(announcedBytes: number): Promise<string> {
    const { port } = this.#nextNode();
    return new Promise((resolve) => {
      let status = 'no answer';
      const socket = connect({ host: '127.0.0.1', port }, () => {
        socket.write(
          `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${this.keys.broke}\r\ncontent-type: application/json\r\ncontent-length: ${announcedBytes}\r\n\r\n{`,
        );
      });
      const drip = setInterval(() => (this.isOver ? socket.destroy() : socket.write(' ')), slowByteMs);
      socket.on('data', (bytes) => {
        status = bytes.toString('latin1', 9, 12);
        socket.destroy();
      });
      socket.on('error', () => undefined);
      socket.on('close', () => {
        clearInterval(drip);
        resolve(status);
      });
    });
  }

  /** A stream without a limit, abandoned at once. */
  async abandon(): Promise<string> {
    const token = `h${this.round}-${this.count}`;
    const answer = `${token}${' on and on'.repeat(100)}`;
    const line = await call(this.#nextNode(), this.keys.funded, {
      token,
      kind: 'abandoned',
      keyName: 'hostile',
      streaming: true,
      abortAfterMs: 50,
      answer,
      bounds: null,
      body: {
        model: plainModel,
        stream: true,
        messages: [{ role: 'user', content: `[[say ${answer}]] [[chunk-delay 10]]` }],
      },
    });
    this.seen.push(line);
    return line.code ?? line.outcome;
  }

  #nextNode(): GatewayNode {
    this.count += 1;
    const node = this.#nodes[this.count % this.#nodes.length];
    if (!node) throw new Error('There is no gateway.');
    return node;
  }
}

function plain(text: string): string {
  return JSON.stringify({ model: plainModel, max_tokens: 10, messages: [{ role: 'user', content: text }] });
}
