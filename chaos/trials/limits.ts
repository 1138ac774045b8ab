/**
 * Someone changes limits all the time, through the gateways that are killed meanwhile. Steady ones are only raised; others come,
 * change and go.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { formatMoneyShort } from '../../src/lib/money.ts';
import type { Random } from '../random.ts';
import { tollgate } from '../world/program.ts';
import type { World } from '../world/world.ts';
import type { Accounts } from './accounts.ts';
import { AdminClient } from './admin-call.ts';
import { endUsers } from './request-plan.ts';
import { type LimitTarget, quantity } from './steady-limits.ts';

/** One change of a limit, as it was asked for. */
export type AskedLimit = Readonly<{
  action: 'create' | 'update' | 'remove';
  door: 'api' | 'cli';
  sent: number;
  /** Null if it was never created. */
  id: string | null;
  /** Null if it is removed. */
  amount: bigint | null;
  /** `unknown`: there was no answer. */
  answer: 'done' | 'refused' | 'unknown';
  code: string | null;
}>;

const minPauseMs = 50;
const maxPauseMs = 400;
const commandShare = 0.05;
const maxTries = 20;
const retryMs = 300;

type Slot = Readonly<{ target: LimitTarget; least: string; most: string }>;

/** Of other kinds than the steady ones of the same scope, which they would replace. */
function slotsOf({ pacedAccount, pacedKeyId, cappedAccount }: Accounts): readonly [Slot, ...Slot[]] {
  const paced = { accountId: pacedAccount, keyId: null, endUser: null };
  const capped = { accountId: cappedAccount, keyId: null, endUser: null };
  return [
    { target: { ...paced, scope: 'account', kind: 'spend_per_week' }, least: '0.001', most: '9' },
    {
      target: { ...paced, scope: 'key', keyId: pacedKeyId, kind: 'spend_per_day' },
      least: '0.001',
      most: '9',
    },
    { target: { ...paced, scope: 'each_end_user', kind: 'concurrent_requests' }, least: '1', most: '3' },
    {
      target: { ...paced, scope: 'end_user', endUser: endUsers[1], kind: 'tokens_per_minute' },
      least: '2000',
      most: '90000',
    },
    {
      target: { ...capped, scope: 'end_user', endUser: endUsers[2], kind: 'spend_per_day' },
      least: '0.001',
      most: '9',
    },
    { target: { ...capped, scope: 'each_end_user', kind: 'requests_per_minute' }, least: '5', most: '900' },
  ];
}

export function startLimits(
  world: World,
  accounts: Accounts,
  random: Random,
): { stop: () => Promise<readonly AskedLimit[]> } {
  const changer = new LimitChanger(world, accounts, random);
  let isOver = false;

  async function doAgainAndAgain(act: () => Promise<void>): Promise<void> {
    while (!isOver) {
      await Bun.sleep(random.between(minPauseMs, maxPauseMs));
      await act();
    }
  }

  const changing = Promise.all([
    doAgainAndAgain(() => changer.change()),
    doAgainAndAgain(() => changer.raise()),
  ]);
  return {
    stop: async () => {
      isOver = true;
      await changing;
      return changer.close();
    },
  };
}

class LimitChanger {
  readonly #world: World;
  readonly #client: AdminClient;
  readonly #random: Random;
  readonly #raised: { readonly id: string; amount: bigint; readonly raise: bigint }[];
  readonly #slots: readonly [Slot, ...Slot[]];
  /** The ID of the limit that a slot has now. */
  readonly #current = new Map<Slot, string>();
  readonly #log: AskedLimit[] = [];
  #file: number | null;

  constructor(world: World, accounts: Accounts, random: Random) {
    this.#world = world;
    this.#client = new AdminClient(world.nodes, accounts.token, random.fork(0));
    this.#random = random;
    this.#raised = accounts.steadyLimits.flatMap(({ id, amount, raise }) =>
      raise === null ? [] : [{ id, amount, raise }],
    );
    this.#slots = slotsOf(accounts);
    this.#file = openSync(join(world.folder, 'limits.jsonl'), 'a');
  }

  /** One of those that are steady. */
  async raise(): Promise<void> {
    const [first, ...rest] = this.#raised;
    if (first === undefined) return;
    const limit = this.#random.pick([first, ...rest]);
    limit.amount += limit.raise;
    await this.#update(limit.id, limit.amount);
  }

  /** One of those that come and go. */
  async change(): Promise<void> {
    const slot = this.#random.pick(this.#slots);
    const amount = this.#amountFor(slot);
    if (this.#random.happens(commandShare)) return await this.#setByCommand(slot, amount);
    const id = this.#current.get(slot);
    if (id === undefined) await this.#create(slot, amount);
    else if (this.#random.happens(0.5)) await this.#update(id, amount);
    else await this.#remove(slot, id);
  }

  close(): readonly AskedLimit[] {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
    return this.#log;
  }

  #amountFor({ target, least, most }: Slot): bigint {
    if (!target.kind.startsWith('spend'))
      return quantity(`${this.#random.between(Number(least), Number(most))}`);
    return this.#random.happens(0.2) ? quantity(least) : quantity(most);
  }

  async #create(slot: Slot, amount: bigint): Promise<void> {
    const { accountId, scope, keyId, endUser, kind } = slot.target;
    const { status, code, sent, body } = await this.#client.send({
      method: 'POST',
      path: `/accounts/${accountId}/limits`,
      body: { scope, key_id: keyId, end_user: endUser, kind, amount: formatMoneyShort(amount) },
      hasKey: true,
    });
    const id = status === 201 ? `${body.id}` : null;
    if (id !== null) this.#current.set(slot, id);
    this.#note({ action: 'create', door: 'api', sent, id, amount, answer: answerOf(status), code });
  }

  async #update(id: string, amount: bigint): Promise<void> {
    const { status, code, sent } = await this.#client.send({
      method: 'PATCH',
      path: `/limits/${id}`,
      body: { amount: formatMoneyShort(amount) },
      hasKey: true,
    });
    this.#note({ action: 'update', door: 'api', sent, id, amount, answer: answerOf(status), code });
  }

  async #remove(slot: Slot, id: string): Promise<void> {
    const path = `/limits/${id}`;
    const { status, code, sent } = await this.#client.send({
      method: 'DELETE',
      path,
      body: null,
      hasKey: true,
    });
    if (status === 200) this.#current.delete(slot);
    this.#note({ action: 'remove', door: 'api', sent, id, amount: null, answer: answerOf(status), code });
  }

  /** Creates it or changes it, and can be repeated. */
  async #setByCommand(slot: Slot, amount: bigint): Promise<void> {
    const { accountId, scope, keyId, endUser, kind } = slot.target;
    const words = [
      'limit',
      'set',
      kind.replaceAll('_', '-'),
      formatMoneyShort(amount),
      '--account',
      accountId,
    ];
    if (keyId !== null) words.push('--key', keyId);
    if (endUser !== null) words.push('--end-user', endUser);
    if (scope === 'each_end_user') words.push('--each-end-user');
    for (let sent = 1; ; sent += 1) {
      const { exitCode, stdout } = await tollgate([...words, '--json'], this.#world.environment);
      const before = this.#current.get(slot) ?? null;
      const asked = { action: before === null ? 'create' : 'update', door: 'cli', sent, amount } as const;
      if (exitCode === 0) {
        const { id } = JSON.parse(stdout) as { id: string };
        this.#current.set(slot, id);
        return this.#note({ ...asked, id, answer: 'done', code: null });
      }
      if (sent === maxTries) return this.#note({ ...asked, id: before, answer: 'unknown', code: null });
      await Bun.sleep(retryMs);
    }
  }

  #note(asked: AskedLimit): void {
    this.#log.push(asked);
    const amount = asked.amount === null ? null : formatMoneyShort(asked.amount);
    if (this.#file !== null)
      writeSync(this.#file, `${JSON.stringify({ at: new Date(), ...asked, amount })}\n`);
  }
}

function answerOf(status: number | null): AskedLimit['answer'] {
  if (status === null) return 'unknown';
  return status < 300 ? 'done' : 'refused';
}
