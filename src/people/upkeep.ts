/** Removes what has expired: sessions, one-time tokens, invitations, rate counters, and networks not seen for long. */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { forgetNetworks } from './welcome-grant.ts';

const everyMs = 10 * 60 * 1000;
const familiarDays = 90;

/** Runs now and every ten minutes, on every node. */
export function keepSignInTidy(sql: SQL, log: Log): () => void {
  const run = () => {
    removeExpired(sql).catch((error: unknown) => log.warn('expired sessions not removed yet', { error }));
  };
  const timer = setInterval(run, everyMs);
  run();
  return () => clearInterval(timer);
}

/** Rows that are locked are left for the next run. */
async function removeExpired(sql: SQL): Promise<void> {
  await sql`
    delete from sessions where id in (
      select id from sessions where expires_at < now() for update skip locked)`;
  await sql`
    delete from verifications where id in (
      select id from verifications where expires_at < now() for update skip locked)`;
  await sql`
    delete from invitations where id in (
      select id from invitations where expires_at < now() for update skip locked)`;
  await sql`
    delete from sign_in_attempts where name in (
      select name from sign_in_attempts where theoretical_arrival_at < now() for update skip locked)`;
  await sql`
    delete from email_verifications where id in (
      select id from email_verifications where expires_at < now() for update skip locked)`;
  await forgetNetworks(sql);
  await sql`delete from familiar_networks where seen_at < now() - make_interval(days => ${familiarDays}::int)`;
}
