/**
 * npm run chaos -- --confirmations ROUNDS: the database commits charges, but the gateway does not learn of it. All its
 * connections go through a network that withholds the answers to the commits and then refuses everything for longer than
 * a settlement may take. Responses that had to be withheld must not stay charged, unless a retry with the same idempotency
 * key gets them; what was delivered in a stream must be charged, once.
 */
import { parseArgs } from 'node:util';
import type { SQL } from 'bun';
import { uuidFromRequestId } from '../../src/lib/ids.ts';
import { moneyFromDatabase } from '../../src/lib/money.ts';
import { createAccountWithKey } from '../world/account.ts';
import { plainModel } from '../world/catalog.ts';
import type { ChaosDatabase } from '../world/database.ts';
import { type FaultProxy, startFaultProxy } from '../world/fault-proxy.ts';
import type { GatewayNode } from '../world/gateway-node.ts';
import { until } from '../world/until.ts';
import type { WorldOptions } from '../world/world.ts';
import { runTrial } from './trial.ts';

type Kind = 'whole' | 'named' | 'stream';
const kinds: readonly Kind[] = ['whole', 'named', 'stream'];
const ofEachKind = 5;
/** The provider takes so long that the network can go bad between the hold and the settlement. */
const providerMs = 3_000;
/** Longer than anything lasts here: what is withheld never arrives. */
const keptBackMs = 600_000;
/** Only the ledger sends this, first of all on each of its connections. */
const ledgerMark = 'idle_in_transaction_session_timeout';
/** Only the statement that settles Generations contains this. */
const settledMark = ',completed,';

type Told = Readonly<{ kind: Kind; name: string; requestId: string; status: number; text: string }>;

async function ask({ origin }: GatewayNode, key: string, kind: Kind, name: string): Promise<Told> {
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...(kind === 'named' ? { 'idempotency-key': name } : {}),
    },
    body: JSON.stringify({
      model: plainModel,
      stream: kind === 'stream',
      max_tokens: 20,
      messages: [{ role: 'user', content: `[[say ${name}]] [[delay ${providerMs}]]` }],
    }),
  });
  const requestId = response.headers.get('x-service-request-id') ?? '';
  return { kind, name, requestId, status: response.status, text: await response.text() };
}

/** The network to the database, which loses the confirmation of a commit when it is told to. */
type Line = Readonly<{
  proxy: FaultProxy;
  /** Resolves when a statement has passed that settles several requests and will never be answered. */
  loseConfirmation: () => Promise<void>;
}>;

async function openLine(database: ChaosDatabase): Promise<Line> {
  const ledgers = new Set<number>();
  let isArmed = false;
  let lost = Promise.withResolvers<void>();
  const proxy = await startFaultProxy(
    { path: database.socketFile },
    {
      onRequest: (connection, bytes) => {
        if (bytes.includes(ledgerMark)) ledgers.add(connection);
        if (!isArmed || !ledgers.has(connection) || settledIn(bytes) < 2) return;
        isArmed = false;
        proxy.fault = { kind: 'delay', delayMs: keptBackMs };
        proxy.strike();
        lost.resolve();
      },
      onFault: () => undefined,
    },
  );
  return {
    proxy,
    loseConfirmation: () => {
      lost = Promise.withResolvers();
      isArmed = true;
      return lost.promise;
    },
  };
}

function settledIn(statement: Buffer): number {
  return statement.toString('latin1').split(settledMark).length - 1;
}

async function runRound(round: number, node: GatewayNode, key: string, sql: SQL, line: Line) {
  const heldBefore = await heldCount(sql);
  const asked = kinds.flatMap((kind) =>
    Array.from({ length: ofEachKind }, (_, index) => ask(node, key, kind, `${kind}-${round}-${index}`)),
  );
  await until('all is held', async () => (await heldCount(sql)) - heldBefore === asked.length);
  await line.loseConfirmation();
  await until('it is committed', async () => (await busyCount(sql)) === 0);
  // The answer is lost, and nothing gets through until all clients have received an error.
  line.proxy.fault = { kind: 'refuse' };
  line.proxy.strike();
  const answers = await Promise.all(asked);
  line.proxy.fault = { kind: 'none' };
  // The gateway settles the rest later; what it never settles shows below.
  await until('all that is late is settled', async () => {
    const states = await Promise.all(answers.map((told) => booksOf(sql, told)));
    return states.every(({ isRight }) => isRight) && (await openCount(sql)) === 0;
  }).catch(() => undefined);
  return await judgeRound(sql, node, key, answers);
}

type Books = { charges: bigint; refunds: bigint; net: string; status: string };

/** What a client was told, and what the ledger has. */
async function booksOf(sql: SQL, { kind, requestId, status, text }: Told) {
  const [books] = await sql<Books[]>`
    select (select count(*) from ledger_entries where generation_id = generations.id and kind = 'charge') as charges,
           (select count(*) from ledger_entries where generation_id = generations.id and kind = 'refund') as refunds,
           (select coalesce(-sum(amount), 0) from ledger_entries where generation_id = generations.id)::text as net, status
    from generations where id = ${uuidFromRequestId(requestId)}`;
  const code = /"code":"(\w+)"/.exec(text)?.[1] ?? 'success';
  const isPaid = moneyFromDatabase(books?.net ?? '0') > 0n;
  const isDelivered = kind === 'stream' || code === 'success';
  const isOnce = books !== undefined && books.charges <= 1n && books.refunds <= books.charges;
  return {
    says: `${kind}: told ${status} ${code}, ${books?.status ?? 'unknown'}, ${books?.charges ?? 0n} charged, ${books?.refunds ?? 0n} refunded`,
    isPaid,
    isDelivered,
    isRefunded: books?.refunds === 1n,
    // With an idempotency key the charge stands, and a retry gets the response.
    isRight: isOnce && (isPaid === isDelivered || kind === 'named'),
  };
}

async function judgeRound(sql: SQL, node: GatewayNode, key: string, answers: readonly Told[]) {
  const wrong: string[] = [];
  const counts = new Map<string, number>();
  let refunds = 0;
  for (const told of answers) {
    const { says, isPaid, isDelivered, isRefunded, isRight } = await booksOf(sql, told);
    counts.set(says, (counts.get(says) ?? 0) + 1);
    if (isRefunded) refunds += 1;
    if (!isRight) wrong.push(`${told.name}: ${says}`);
    if (told.kind !== 'named' || isDelivered) continue;
    const again = await ask(node, key, told.kind, told.name);
    if (again.status !== 200 || !again.text.includes(told.name))
      wrong.push(`${told.name} again: ${again.status} ${again.text}`);
    if (isPaid && again.requestId !== told.requestId)
      wrong.push(`${told.name} was paid for and carried out again`);
  }
  return { wrong, counts, refunds };
}

/** How many were held so far: the first may be settled before the last is held. */
async function heldCount(sql: SQL): Promise<number> {
  const [row] = await sql<{ count: bigint }[]>`
    select (select count(*) from open_generations) + (select count(*) from generations) as count`;
  return Number(row?.count);
}

async function openCount(sql: SQL): Promise<number> {
  const [row] = await sql<{ count: bigint }[]>`select count(*) from open_generations`;
  return Number(row?.count);
}

/** Other connections on which the database is still busy. */
async function busyCount(sql: SQL): Promise<number> {
  const [row] = await sql<{ count: bigint }[]>`
    select count(*) from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and state <> 'idle' and pid <> pg_backend_pid()`;
  return Number(row?.count);
}

export async function runConfirmations(words: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...words],
    options: { rounds: { type: 'string', default: '1' }, prepared: { type: 'string' } },
  });
  let line: Line | null = null;
  const options: WorldOptions = {
    nodeCount: 1,
    preparedFolder: values.prepared,
    databaseUrl: async (database) => {
      line = await openLine(database);
      const { proxy } = line;
      return { url: database.urlOver(proxy.port), close: proxy.close };
    },
  };
  return await runTrial(options, async ({ nodes: [node] }, sql) => {
    if (node === undefined || line === null) throw new Error('There is no gateway.');
    const { key } = await createAccountWithKey(sql, 'Confirmations', '1000');
    const wrong: string[] = [];
    let refunds = 0;
    for (let round = 0; round < Number(values.rounds); round++) {
      const judged = await runRound(round, node, key, sql, line);
      for (const [state, count] of judged.counts) console.log(`${`${count}`.padStart(5)}  ${state}`);
      refunds += judged.refunds;
      wrong.push(...judged.wrong);
    }
    if (refunds === 0) wrong.push('no charge was committed without the gateway’s knowledge and refunded');
    return { wrong, summary: 'nobody pays for what was withheld, and everybody for what was delivered' };
  });
}
