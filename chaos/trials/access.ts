/** An operator makes and revokes keys, and suspends and resumes an account, through gateways that are killed meanwhile. */
import type { Random } from '../random.ts';
import type { World } from '../world/world.ts';
import { AdminClient } from './admin-call.ts';

export type AccessChange = Readonly<{
  action: 'create key' | 'revoke key' | 'suspend' | 'resume';
  /** How often it was sent until it was answered. */
  sent: number;
  /** Null if it is unknown whether it was done. */
  status: number | null;
}>;

const minPauseMs = 100;
const maxPauseMs = 600;

export function startAccessChanges(
  world: World,
  { accountId, token }: Readonly<{ accountId: string; token: string }>,
  random: Random,
): { stop: () => Promise<readonly AccessChange[]> } {
  const client = new AdminClient(world.nodes, token, random.fork(1));
  const path = `/accounts/${accountId}`;
  const log: AccessChange[] = [];
  const keys: string[] = [];
  let isSuspended = false;
  let isOver = false;

  async function send(action: AccessChange['action'], rest: string, body: object): Promise<void> {
    const answer = await client.send({ method: 'POST', path: path + rest, body, hasKey: true });
    log.push({ action, sent: answer.sent, status: answer.status });
    if (action === 'create key' && answer.status === 201) keys.push(`${answer.body.id}`);
  }

  async function change(number: number): Promise<void> {
    const chance = random.next();
    if (chance < 0.3) return await send('create key', '/keys', { name: `chaos ${number}` });
    if (chance < 0.6) {
      const key = keys[random.between(0, keys.length - 1)];
      // Some are revoked again, which changes nothing.
      if (key !== undefined) await send('revoke key', `/keys/${key}/revoke`, {});
      return;
    }
    // Now and then it is already so, or was not done before.
    if (random.happens(0.9)) isSuspended = !isSuspended;
    await send(isSuspended ? 'suspend' : 'resume', isSuspended ? '/suspend' : '/resume', {});
  }

  async function changeAgainAndAgain(): Promise<void> {
    for (let number = 0; !isOver; number += 1) {
      await Bun.sleep(random.between(minPauseMs, maxPauseMs));
      await change(number);
    }
  }

  const changing = changeAgainAndAgain();
  return {
    stop: async () => {
      isOver = true;
      await changing;
      return log;
    },
  };
}
