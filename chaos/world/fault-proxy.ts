/**
 * A network that can be made to fail: forwards TCP connections to one target, and injects faults into their answers. It
 * knows nothing of the protocol on them.
 */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Fault, FaultKind } from './fault.ts';
import { type Counters, Relay, type Target } from './relay.ts';

/** Is told what happens on which connection; connections are numbered from 1. */
export type Observer = Readonly<{
  /** Before these bytes are passed on. */
  onRequest: (connection: number, bytes: Buffer) => void;
  /** Each time a fault withholds, delays or ends something. */
  onFault: (connection: number, kind: FaultKind) => void;
}>;

export type FaultProxy = {
  readonly host: string;
  readonly port: number;
  readonly counters: Readonly<Counters>;
  /** The fault of new connections. */
  fault: Fault;
  /** Applies a fault to open connections too, by default the one above; returns how many there are. */
  readonly strike: (fault?: Fault) => number;
  /** Ends everything. */
  readonly close: () => Promise<void>;
};

const host = '127.0.0.1';
const unobserved: Observer = { onRequest: () => undefined, onFault: () => undefined };

export async function startFaultProxy(target: Target, observer: Observer = unobserved): Promise<FaultProxy> {
  const open = new Set<Relay>();
  const counters: Counters = { connections: 0, requestBytes: 0, answerBytes: 0 };

  // An end in one direction must not end the other, so each socket may be half open.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client: Socket) => {
    counters.connections += 1;
    const number = counters.connections;
    new Relay(client, proxy.fault, {
      target,
      counters,
      open,
      onRequest: (bytes) => observer.onRequest(number, bytes),
      onFault: (kind) => observer.onFault(number, kind),
    });
  });

  const proxy: FaultProxy = {
    host,
    port: await listen(server),
    counters,
    fault: { kind: 'none' },
    strike: (fault = proxy.fault) => {
      const struck = [...open];
      for (const relay of struck) relay.strike(fault);
      return struck.length;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const relay of [...open]) relay.end();
      }),
  };
  return proxy;
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, host, () => resolve((server.address() as AddressInfo).port));
  });
}
