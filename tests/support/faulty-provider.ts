/** A provider that fails as a row of the table of faults says. */
import { type AddressInfo, createServer } from 'node:net';
import { startFaultProxy } from '../../chaos/world/fault-proxy.ts';
import { startSandbox } from '../../sandbox/server.ts';
import type { Row } from './provider-faults.ts';

/** Starts it and returns its port. What has to be closed in the end is put in front of `closers`. */
export async function startFaulty({ cause }: Row, closers: (() => Promise<unknown>)[]): Promise<number> {
  if ('bytes' in cause) return await startFixedServer(cause.bytes, cause.thenSilence ?? false, closers);
  const sandbox = startSandbox('directives' in cause ? { directives: cause.directives } : {});
  closers.unshift(sandbox.stop);
  if ('directives' in cause) return sandbox.port;
  const proxy = await startFaultProxy({ host: '127.0.0.1', port: sandbox.port });
  proxy.fault = cause.network;
  closers.unshift(proxy.close);
  return proxy.port;
}

/** Answers each connection's first bytes with these, and ends it or says nothing more. */
async function startFixedServer(
  bytes: string,
  thenSilence: boolean,
  closers: (() => Promise<unknown>)[],
): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write(Buffer.from(bytes, 'latin1'));
      if (!thenSilence) socket.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.unshift(() => new Promise((resolve) => server.close(resolve)));
  return (server.address() as AddressInfo).port;
}
