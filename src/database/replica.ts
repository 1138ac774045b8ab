/**
 * A replica for lists and reports, used while it is close behind the primary. A single Generation is not looked up here:
 * a client may ask for one right after its request.
 */
import { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { repeat } from '../lib/repeat.ts';
import { within } from '../lib/within.ts';
import { ReplaceableClient } from './replaceable-client.ts';

const maxLagSeconds = 5;
const everyMs = 1_000;
const patienceMs = 2_000;

export type Replica = Readonly<{
  /** Null while the replica is away or too far behind. */
  current: () => SQL | null;
  close: () => Promise<void>;
}>;

export async function openReplica(options: SQL.Options, primary: SQL, log?: Log): Promise<Replica> {
  const client = new ReplaceableClient(() => new SQL(options), patienceMs);
  let isUsable = false;

  async function look(): Promise<void> {
    const wasUsable = isUsable;
    isUsable = await isClose(client.current, primary);
    if (isUsable === wasUsable) return;
    if (isUsable) log?.info('lists and reports come from the replica');
    else {
      log?.warn('the replica is away or too far behind, lists and reports come from the primary');
      client.replace();
    }
  }

  await look();
  const looking = repeat(everyMs, look);
  return {
    current: () => (isUsable ? client.current : null),
    close: async () => {
      looking.stop();
      await client.close(1);
    },
  };
}

async function isClose(replica: SQL, primary: SQL): Promise<boolean> {
  try {
    return (await within(patienceMs, compareReplica(replica, primary))) === 'close';
  } catch {
    return false;
  }
}

/**
 * The time of the last replayed transaction says nothing while there are no new ones, so a replica that has replayed
 * everything the primary had written is close, however long ago that was. The connection must be to a replica: a former
 * replica that was promoted has its own history.
 */
export async function compareReplica(
  replica: SQL,
  primary: SQL,
): Promise<'close' | 'behind' | 'not a replica'> {
  const [written] = await primary<[{ position: string }]>`select pg_current_wal_lsn()::text as position`;
  const [replayed] = await replica<[{ is_replica: boolean; is_close: boolean | null }]>`
    select pg_is_in_recovery() as is_replica,
           pg_last_wal_replay_lsn() >= ${written.position}::pg_lsn
           or now() - pg_last_xact_replay_timestamp() < make_interval(secs => ${maxLagSeconds}) as is_close`;
  if (!replayed.is_replica) return 'not a replica';
  return replayed.is_close === true ? 'close' : 'behind';
}
