/**
 * Someone moves money by hand all the time, while gateways and the database are killed: credits, corrections of both signs
 * and refunds of requests that have ended, whole and in parts. Some are asked for again, some with the reference of another,
 * some are for more than there is.
 */
import { formatMoney, parseMoney } from '../../src/lib/money.ts';
import type { Random } from '../random.ts';
import { tollgate } from '../world/program.ts';
import type { World } from '../world/world.ts';
import type { Accounts } from './accounts.ts';
import { type AdminAnswer, AdminClient } from './admin-call.ts';
import type { Seen } from './client-call.ts';
import type { AskedMovement, Movement, MovementLog } from './movement-log.ts';

/** At once, so that some ask for the same. */
const movers = 3;
const minPauseMs = 20;
const maxPauseMs = 200;
/** The command line takes the time of many requests to start. */
const commandShare = 0.03;
const maxTries = 3;
const retryMs = 300;
/** Of the requests that ended last, one is refunded. */
const recentCount = 500;
const microdollar = 1_000_000n;
/** More than anyone has. */
const fortune = parseMoney('1000000000') ?? 0n;

export function startMovements(
  world: World,
  accounts: Accounts,
  log: MovementLog,
  seen: readonly Seen[],
  random: Random,
): { stop: () => Promise<void> } {
  const client = new AdminClient(world.nodes, accounts.token, random.fork(movers));
  let isOver = false;

  async function moveAgainAndAgain(mover: number): Promise<void> {
    const chance = random.fork(mover);
    for (let number = 0; !isOver; number += 1) {
      await Bun.sleep(chance.between(minPauseMs, maxPauseMs));
      const movement = chooseMovement(`m${mover}-${number}`, { accounts, asked: log.asked, seen }, chance);
      if (movement === null) continue;
      const isCommand = chance.happens(commandShare) && movement.entryNumber === null;
      log.note(isCommand ? await byCommand(world, movement) : await byProgram(client, movement, chance));
    }
  }

  const moving = Promise.all(Array.from({ length: movers }, (_, mover) => moveAgainAndAgain(mover)));
  return {
    stop: async () => {
      isOver = true;
      await moving;
    },
  };
}

type Known = Readonly<{
  accounts: Pick<
    Accounts,
    'richAccount' | 'poorAccount' | 'cappedAccount' | 'grantedAccount' | 'toldAccount'
  >;
  asked: readonly AskedMovement[];
  seen: readonly Seen[];
}>;

/** Null when there is nothing yet that it could be about. */
export function chooseMovement(name: string, known: Known, random: Random): Movement | null {
  const { richAccount, poorAccount, cappedAccount, grantedAccount, toldAccount } = known.accounts;
  const accountId = random.pick([richAccount, poorAccount, cappedAccount, grantedAccount, toldAccount]);
  const amount = BigInt(random.between(1, 5_000)) * microdollar;
  const plain = { accountId, requestId: null, entryNumber: null, words: `Chaos ${name}`, reference: name };
  const chance = random.next();
  if (chance < 0.15)
    return { ...plain, kind: 'credit', amount, reference: random.happens(0.5) ? name : null };
  if (chance < 0.25) return { ...plain, kind: 'correction', amount };
  if (chance < 0.38) return { ...plain, kind: 'correction', amount: -amount };
  if (chance < 0.41) return { ...plain, kind: 'correction', amount: -fortune };
  if (chance < 0.46) return undo(plain, known.asked, random);
  if (chance < 0.6) return again(known.asked, random);
  if (chance < 0.68) return inConflict(known.asked, random);
  const requestId = recentRequest(known.seen, random);
  if (requestId === null) return null;
  const refund = { ...plain, kind: 'refund', accountId: null, requestId } as const;
  if (chance < 0.8) return { ...refund, amount: null };
  // A charge is some hundred microdollars.
  if (chance < 0.97) return { ...refund, amount: BigInt(random.between(1, 300)) * microdollar };
  return { ...refund, amount: fortune };
}

/** Mostly one that succeeded. The others were not charged, or only perhaps. */
function recentRequest(seen: readonly Seen[], random: Random): string | null {
  const wanted = random.happens(0.9) ? ['success'] : ['success', 'aborted', 'cut', 'error'];
  const last = Math.max(seen.length - random.between(1, recentCount), 0);
  const line = seen.findLast(
    ({ outcome, requestId }, index) => index <= last && requestId !== null && wanted.includes(outcome),
  );
  return line?.requestId ?? null;
}

function undo(
  plain: Omit<Movement, 'kind' | 'amount'>,
  asked: readonly AskedMovement[],
  random: Random,
): Movement | null {
  const earlier = anyOf(asked, random);
  if (earlier?.entry == null || earlier.kind === 'refund') return null;
  const { accountId, number } = earlier.entry;
  return { ...plain, kind: 'correction', accountId, entryNumber: number, amount: null };
}

/** The same in every respect: it is booked once. */
function again(asked: readonly AskedMovement[], random: Random): Movement | null {
  const earlier = anyOf(asked, random);
  return earlier === null || earlier.reference === null ? null : contentOf(earlier);
}

/** The same reference for something else, which is refused. */
function inConflict(asked: readonly AskedMovement[], random: Random): Movement | null {
  const earlier = anyOf(asked, random);
  if (earlier?.entry == null || earlier.reference === null) return null;
  const { amount } = earlier.entry;
  return { ...contentOf(earlier), amount: amount + (amount < 0n ? -microdollar : microdollar) };
}

function anyOf(asked: readonly AskedMovement[], random: Random): AskedMovement | null {
  return asked[random.between(0, asked.length)] ?? null;
}

function contentOf(asked: AskedMovement): Movement {
  const { kind, accountId, requestId, entryNumber, amount, words, reference } = asked;
  return { kind, accountId, requestId, entryNumber, amount, words, reference };
}

export async function byProgram(
  client: AdminClient,
  movement: Movement,
  random: Random,
): Promise<AskedMovement> {
  const { kind, accountId, requestId, entryNumber, amount, words, reference } = movement;
  const path = kind === 'refund' ? `/generations/${requestId}/refunds` : `/accounts/${accountId}/${kind}s`;
  const answer = await client.send({
    method: 'POST',
    path,
    body: {
      ...(amount === null ? {} : { amount: formatMoney(amount) }),
      ...(entryNumber === null ? {} : { entry_number: entryNumber }),
      ...(kind === 'credit' ? { memo: words } : { reason: words }),
      ...(reference === null ? {} : { reference }),
    },
    hasKey: reference === null || random.happens(0.7),
  });
  return { ...movement, door: 'api', ...resultOf(answer) };
}

function resultOf({
  sent,
  status,
  code,
  body,
}: AdminAnswer): Pick<AskedMovement, 'sent' | 'answer' | 'code' | 'entry'> {
  if (status === null) return { sent, answer: 'unknown', code, entry: null };
  if (status !== 201) return { sent, answer: 'refused', code: code ?? `status ${status}`, entry: null };
  const isRepeated = body.already_booked === true || body.already_credited === true;
  return {
    sent,
    answer: isRepeated ? 'repeated' : 'booked',
    code,
    entry: {
      accountId: `${body.account_id}`,
      number: Number(body.entry_number),
      amount: parseMoney(`${body.amount}`) ?? 0n,
    },
  };
}

/** What fails is tried again, with the same reference. A refusal looks the same as a database that is away. */
async function byCommand(world: World, movement: Movement): Promise<AskedMovement> {
  const words = commandFor(movement);
  for (let sent = 1; ; sent += 1) {
    const { exitCode } = await tollgate(words, world.environment);
    const asked = { ...movement, door: 'cli', sent, code: null, entry: null } as const;
    if (exitCode === 0) return { ...asked, answer: 'booked' };
    if (sent === maxTries || movement.reference === null) return { ...asked, answer: 'unknown' };
    await Bun.sleep(retryMs);
  }
}

function commandFor({ kind, accountId, requestId, amount, words, reference }: Movement): string[] {
  const named = reference === null ? [] : ['--reference', reference];
  const size = amount === null ? [] : [formatMoney(amount < 0n ? -amount : amount)];
  if (kind === 'credit') return ['account', 'credit', accountId ?? '', ...size, '--memo', words, ...named];
  const because = ['--reason', words, ...named];
  if (kind === 'refund') return ['generation', 'refund', requestId ?? '', ...size, ...because];
  return [
    'account',
    'correct',
    accountId ?? '',
    (amount ?? 0n) < 0n ? '--take' : '--add',
    ...size,
    ...because,
  ];
}
