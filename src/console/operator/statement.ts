/** Every entry of an account, the newest first, with who made it: what operators start from to put something right. */
import type { SQL } from 'bun';
import { ApiError } from '../../errors.ts';
import { findDraws } from '../../grants/grant-store.ts';
import { lookUp } from '../../http/lookup.ts';
import { presentPage } from '../../http/present-page.ts';
import { parseLimit, readQuery } from '../../http/query.ts';
import { type Entry, findEntries } from '../../ledger/entries.ts';
import { requestIdFromUuid } from '../../lib/ids.ts';
import { formatMoney } from '../../lib/money.ts';
import { accountIn, requireOperator } from '../access.ts';
import { parseEntryCursor } from '../billing.ts';
import { boundedRead, boundedSnapshot } from '../bounded-read.ts';
import type { Unsent } from '../contract.ts';
import { presentDrawsOf } from '../draws.ts';
import type { ConsoleHandler, Routes } from '../guard.ts';
import type { OperatorAccount, OperatorEntry, OperatorStatement } from '../operator-contract.ts';
import { findAccount } from './accounts.ts';

const defaultLimit = 50;

export function statementPage({ sql }: Readonly<{ sql: SQL }>): Routes<ConsoleHandler> {
  return {
    '/accounts/:account/ledger': {
      GET: async (request, { params, signedIn }) => {
        const accountId = accountIn(params);
        const query = readQuery(request.url, ['limit', 'cursor']);
        const limit = parseLimit(query.get('limit'), defaultLimit);
        const before = parseEntryCursor(query.get('cursor'));
        const found = await lookUp('balance_lookup_failed', () =>
          findStatement(sql, signedIn.userId, accountId, before, limit + 1),
        );
        // Whoever may see the entries may see this.
        const draws = await lookUp('balance_lookup_failed', () =>
          boundedRead(sql, (read) => findDraws(read, accountId, found.entries)),
        );
        const present = (entry: Entry) => ({
          ...presentEntry(entry, found),
          draws: presentDrawsOf(draws, entry),
        });
        const page = presentPage(found.entries, limit, present, ({ number }) => `${number}`);
        return Response.json({ account: found.account, ...page } satisfies Unsent<OperatorStatement>);
      },
    },
  };
}

type FoundStatement = Readonly<{
  account: Unsent<OperatorAccount>;
  entries: readonly Entry[];
  /** Of the operators and tokens that made some of the entries, by their IDs. */
  actors: ReadonlyMap<string, string>;
  /** Of the Generations that are still kept, by their IDs. */
  models: ReadonlyMap<string, string>;
}>;

export async function findStatement(
  sql: SQL,
  operatorId: string,
  accountId: string,
  before: bigint,
  rowCount: number,
): Promise<FoundStatement> {
  return await boundedSnapshot(sql, async (transaction) => {
    await requireOperator(transaction, operatorId);
    const account = await findAccount(transaction, { userId: operatorId }, accountId);
    if (account === null) throw new ApiError('account_not_found');
    const entries = await findEntries(transaction, accountId, before, rowCount);
    const named = await transaction<{ id: string; name: string }[]>`
      select id, email as name from users where id = any (${transaction.array(idsOf('operator:', entries), 'uuid')})
      union all
      select id, name from admin_tokens where id = any (${transaction.array(idsOf('token:', entries), 'uuid')})`;
    const generations = await transaction<{ id: string; model: string }[]>`
      select id, model from generations
      where id = any (${transaction.array(entries.flatMap(generationsOf), 'uuid')})`;
    return {
      account,
      entries,
      actors: new Map(named.map(({ id, name }) => [id, name])),
      models: new Map(generations.map(({ id, model }) => [id, model])),
    };
  });
}

/** Of the actors of one kind. */
function idsOf(kind: 'operator:' | 'token:', entries: readonly Entry[]): string[] {
  return entries.flatMap(({ actor }) => (actor?.startsWith(kind) ? [actor.slice(kind.length)] : []));
}

/** At most one: what it is for, or about. */
function generationsOf({ generationId, concernsGenerationId }: Entry): string[] {
  const id = generationId ?? concernsGenerationId;
  return id === null ? [] : [id];
}

/** An operator by their e-mail address, a token by its name. */
function presentActor(
  actor: string,
  actors: ReadonlyMap<string, string>,
): NonNullable<OperatorEntry['actor']> {
  const [kind = '', name = ''] = actor.split(/:(.*)/s);
  return { kind: kind as 'operator' | 'shell' | 'token', name: actors.get(name) ?? name };
}

type Names = Pick<FoundStatement, 'actors' | 'models'>;

function presentEntry(entry: Entry, { actors, models }: Names): Unsent<Omit<OperatorEntry, 'draws'>> {
  const [id] = generationsOf(entry);
  return {
    number: Number(entry.number),
    kind: entry.kind,
    amount: formatMoney(entry.amount),
    is_estimated: entry.isEstimated,
    balance_after: formatMoney(entry.balanceAfter),
    memo: entry.memo,
    reference: entry.reference,
    generation: id === undefined ? null : { id: requestIdFromUuid(id), model: models.get(id) ?? null },
    concerns_entry: entry.concernsEntry === null ? null : Number(entry.concernsEntry),
    is_by_hand: entry.actor !== null,
    actor: entry.actor === null ? null : presentActor(entry.actor, actors),
    created_at: entry.createdAt,
  };
}
