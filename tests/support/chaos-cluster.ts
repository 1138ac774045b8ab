import { preparedTemplate } from './embedded.ts';

/** Lets the databases of chaos runs begin with a copy of one that is made already. */
export async function prepareChaosCluster(): Promise<void> {
  process.env.CHAOS_CLUSTER = await preparedTemplate();
}
