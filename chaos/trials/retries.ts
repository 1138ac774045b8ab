/**
 * npm run chaos -- --retries NAMES: every request is sent five times at once with one Idempotency-Key, to two gateways, and
 * again whenever a client gets no response. Half way through, one gateway is killed. Each name, which is such a key, may be
 * charged once, and all its clients must have got the same bytes.
 */
import { parseArgs } from 'node:util';
import type { SQL } from 'bun';
import { uuidFromRequestId } from '../../src/lib/ids.ts';
import { createAccountWithKey } from '../world/account.ts';
import { plainModel } from '../world/catalog.ts';
import type { World } from '../world/world.ts';
import { runTrial } from './trial.ts';

const duplicates = 5;
const namesAtOnce = 40;
const pauseMs = 100;
const patienceMs = 60_000;
/** How long the clients of the killed gateway wait. */
const leaseMs = 5_000;

/** What all clients of a name got in the end. */
type Named = Readonly<{ name: string; ids: ReadonlySet<string>; bodies: ReadonlySet<string>; sent: number }>;

async function askAll(world: World, key: string, name: string, isStream: boolean): Promise<Named> {
  const ids = new Set<string>();
  const bodies = new Set<string>();
  let sent = 0;
  const body = JSON.stringify({
    model: plainModel,
    stream: isStream,
    messages: [{ role: 'user', content: `[[say ${name}]] [[delay 20]] [[usage 10 5]]` }],
  });
  await Promise.all(
    Array.from({ length: duplicates }, async (_, copy) => {
      const deadline = Date.now() + patienceMs;
      for (let turn = copy; ; turn += 1) {
        sent += 1;
        const answer = await ask(world.nodes[turn % world.nodes.length]?.origin ?? '', key, name, body);
        if (answer !== null) {
          ids.add(answer.id);
          bodies.add(answer.text);
          return;
        }
        if (Date.now() > deadline) throw new Error(`Nobody answers ${name}.`);
        await Bun.sleep(pauseMs);
      }
    }),
  );
  return { name, ids, bodies, sent };
}

/** Null when there was no response, or one that says to try again. */
async function ask(origin: string, key: string, name: string, body: string) {
  try {
    const response = await fetch(`${origin}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': name,
      },
      body,
    });
    const text = await response.text();
    const isWhole =
      response.status === 200 && (text.endsWith('data: [DONE]\n\n') || text.startsWith('{"id"'));
    if (!isWhole || text.includes('{"error"')) return null;
    return { id: response.headers.get('x-service-request-id') ?? '', text };
  } catch {
    return null;
  }
}

type Books = { charges: bigint; interrupted: bigint };

async function wrongs(sql: SQL, world: World, named: readonly Named[], accountId: string): Promise<string[]> {
  const [books] = await sql<[Books]>`
    select (select count(*) from ledger_entries where account_id = ${accountId} and kind = 'charge') as charges,
           (select count(*) from generations where account_id = ${accountId} and error_code = 'gateway_interrupted') as interrupted`;
  const ids = named.flatMap((one) => [...one.ids].map((id) => uuidFromRequestId(id) ?? id));
  const charged = await sql`
    select generation_id from ledger_entries where kind = 'charge' and generation_id = any(${`{${ids.join(',')}}`}::text::uuid[])`;
  const calls = world.upstream.calls().length;
  const several = named.filter(({ bodies }) => bodies.size !== 1);
  const torn = named.filter((one) => one.ids.size !== 1);
  const most = named.length + Number(books.interrupted);
  console.log(
    `${named.length} names, ${named.reduce((sum, { sent }) => sum + sent, 0)} requests, ${calls} calls to the provider, ${books.interrupted} interrupted, ${books.charges} charges`,
  );
  return [
    ...(several.length === 0
      ? []
      : [`${several.length} names got different bytes, such as ${several[0]?.name}`]),
    ...(torn.length === 0 ? [] : [`${torn.length} names were answered under several IDs`]),
    ...(books.charges === BigInt(named.length) ? [] : [`${books.charges} charges for ${named.length} names`]),
    ...(charged.length === named.length ? [] : [`${charged.length} answers were charged`]),
    ...(calls <= most ? [] : [`${calls} calls where ${most} are explained`]),
  ];
}

async function askEveryName(world: World, key: string, count: number): Promise<Named[]> {
  const named: Named[] = [];
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const number = next;
      next += 1;
      if (number === Math.floor(count / 2)) world.nodes[0]?.kill();
      named.push(await askAll(world, key, `retry-${number}`, number % 2 === 0));
    }
  };
  await Promise.all(Array.from({ length: Math.min(namesAtOnce, count) }, worker));
  return named;
}

export async function runRetries(words: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...words],
    options: { names: { type: 'string', default: '200' }, prepared: { type: 'string' } },
  });
  return await runTrial({ leaseMs, preparedFolder: values.prepared }, async (world, sql) => {
    const { accountId, key } = await createAccountWithKey(sql, 'Retries', '1000');
    const named = await askEveryName(world, key, Number(values.names));
    return {
      wrong: await wrongs(sql, world, named, accountId),
      summary: `one charge and one answer for each of ${named.length} names`,
    };
  });
}
