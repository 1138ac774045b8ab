/** Whoever starts a second gateway on one data folder by mistake should hear of the first. */
import type { SQL } from 'bun';
import type { Config } from '../config.ts';
import { findLocalPorts } from '../database/running-gateways.ts';
import { isGateway } from '../lib/gateway-address.ts';
import { localOriginOf } from '../lib/ip-address.ts';
import type { Log } from '../lib/log.ts';

const answerMs = 1_000;

/** To be called before this gateway is a node itself. */
export async function reportOtherGateways(
  sql: SQL,
  { host, dataFolder }: Pick<Config, 'host' | 'dataFolder'>,
  log: Log,
): Promise<void> {
  for (const port of await findLocalPorts(sql)) {
    // One that was killed a moment ago still looks alive in the database.
    const address = localOriginOf({ host, port });
    if (await isGateway(address, answerMs))
      log.warn(
        'another gateway already runs on this data folder, and both serve the same accounts: for one of its own, set TOLLGATE_DATA to another folder',
        { folder: dataFolder, address },
      );
  }
}
