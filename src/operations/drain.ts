/**
 * How a gateway stops without losing a request. First it reports that it is not ready and serves everyone who still comes,
 * until the balancer has noticed. Then it accepts no connections, and open requests go on. At the deadline it ends what is
 * left. A second signal skips the waiting.
 */
import type { Config } from '../config.ts';
import type { Listening } from './listen.ts';

export type Drained = Readonly<{
  server: Pick<Listening, 'stopAccepting' | 'pendingCount' | 'closeAll'>;
  /** Whether there is work left without a client: a stream that is read for its usage, a charge to store. */
  isBusy: () => boolean;
  /** Ends the calls to providers, so that open requests end with an error. */
  endCalls: () => void;
  /** From now on, waiting is over. */
  hurryRequested: Promise<void>;
  /** From now on, someone else needs the port: no balancer is waited for. */
  portRequested: Promise<void>;
}>;

/** How long requests get to report their error and to store their charge, once they have been ended. */
const endMs = 3_000;
const pollMs = 20;

export async function drain(
  { server, isBusy, endCalls, hurryRequested, portRequested }: Drained,
  { delaySeconds, seconds }: Config['drain'],
): Promise<void> {
  const deadlineMs = performance.now() + seconds * 1000;
  let isHurried = false;
  const hurry = hurryRequested.then(() => {
    isHurried = true;
  });
  const waitWhile = async (isOpen: () => boolean, untilMs: number) => {
    while (isOpen() && performance.now() < untilMs) await Bun.sleep(pollMs);
  };

  await Promise.race([Bun.sleep(delaySeconds * 1000), hurry, portRequested]);
  server.stopAccepting();
  await waitWhile(() => !isHurried && (server.pendingCount() > 0 || isBusy()), deadlineMs);
  endCalls();
  await waitWhile(() => server.pendingCount() > 0 || isBusy(), performance.now() + endMs);
  await server.closeAll();
  // Clients that did not read their error are gone now, and their requests still have to be settled.
  await waitWhile(isBusy, performance.now() + endMs);
}
