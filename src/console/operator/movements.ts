/** Money that operators move by hand: credits, corrections, refunds, and the entries of an account that they start from. */
import type { SQL } from 'bun';
import { z } from 'zod';
import { ApiError } from '../../errors.ts';
import { lookUp } from '../../http/lookup.ts';
import { presentPage } from '../../http/present-page.ts';
import { parseLimit, readQuery } from '../../http/query.ts';
import { type Entry, findEntries } from '../../ledger/entries.ts';
import { type Booked, book, isBooked, type Movement, preview } from '../../ledger/movements.ts';
import { refusalOf } from '../../ledger/refusals.ts';
import { requestIdFromUuid, uuidFromRequestId } from '../../lib/ids.ts';
import { formatMoney } from '../../lib/money.ts';
import { accountIn, requireOperator } from '../access.ts';
import { parseEntryCursor } from '../billing.ts';
import type { Unsent } from '../contract.ts';
import { amountFrom, bodyOf, converted, line, readBody, signedAmount, uuid } from '../fields.ts';
import type { ConsoleContext, ConsoleHandler, Routes } from '../guard.ts';
import type {
  BookedMovement,
  OperatorAccount,
  OperatorEntry,
  OperatorStatement,
} from '../operator-contract.ts';
import { findAccount } from './accounts.ts';

const maxWords = 500;
const memoWords = `a line of at most ${maxWords} characters, or null`;

const creditBody = bodyOf({
  amount: amountFrom(1n),
  memo: z
    .string(memoWords)
    .transform((text) => text.trim())
    .refine((text) => text.length <= maxWords && !/\p{Cc}/u.test(text), memoWords)
    .transform((text) => (text === '' ? null : text))
    .nullable(),
  reference: uuid('a UUID that is new for each credit'),
});

const byHand = {
  reason: line(maxWords),
  reference: uuid('a UUID that is new for each movement'),
  is_preview: z.boolean('true or false').optional(),
};

const correctionBody = bodyOf({
  amount: signedAmount(', or null to undo the entry').nullable(),
  entry_number: z
    .int('the number of an entry, or null')
    .positive('the number of an entry, or null')
    .nullable(),
  request_id: converted('the ID of a request, or null', uuidFromRequestId).nullable(),
  ...byHand,
});

const refundBody = bodyOf({ amount: amountFrom(1n, ', or null for all that is left').nullable(), ...byHand });

const defaultLimit = 50;

export function movementsPage({ sql }: Readonly<{ sql: SQL }>): Routes<ConsoleHandler> {
  async function move(context: ConsoleContext, movement: Movement, isPreview = false): Promise<Booked> {
    const actor = { kind: 'operator', userId: context.signedIn.userId } as const;
    const result = await (isPreview ? preview : book)(sql, actor, movement);
    if (isBooked(result)) return result;
    const { code, ...details } = refusalOf(result);
    throw new ApiError(code, details);
  }

  return {
    '/accounts/:account/credit': {
      POST: async (request, context) => {
        const accountId = accountIn(context.params);
        await move(context, { kind: 'credit', accountId, ...(await readBody(request, creditBody)) });
        const account = await findAccount(sql, context.signedIn.userId, accountId);
        if (account === null) throw new ApiError('account_not_found');
        return Response.json(account);
      },
    },
    '/accounts/:account/corrections': {
      POST: async (request, context) => {
        const accountId = accountIn(context.params);
        const body = await readBody(request, correctionBody);
        const {
          amount,
          entry_number: entry,
          request_id: generationId,
          is_preview: isPreview,
          ...words
        } = body;
        if (amount === null && entry === null)
          throw new ApiError('missing_required_parameter', { param: 'amount' });
        const entryNumber = entry === null ? null : BigInt(entry);
        const movement = {
          kind: 'correction',
          accountId,
          amount: amount ?? 'rest',
          entryNumber,
          generationId,
          ...words,
        } as const;
        return Response.json(presentBooked(await move(context, movement, isPreview)));
      },
    },
    '/generations/:generation/refunds': {
      POST: async (request, context) => {
        const generationId = uuidFromRequestId(context.params.generation ?? '');
        if (generationId === null) throw new ApiError('generation_not_found');
        const { amount, is_preview: isPreview, ...words } = await readBody(request, refundBody);
        const movement = {
          kind: 'refund',
          generationId,
          accountId: null,
          amount: amount ?? 'rest',
          ...words,
        } as const;
        return Response.json(presentBooked(await move(context, movement, isPreview)));
      },
    },
    '/accounts/:account/ledger': {
      GET: async (request, { params, signedIn }) => {
        const accountId = accountIn(params);
        const query = readQuery(request.url, ['limit', 'cursor']);
        const limit = parseLimit(query.get('limit'), defaultLimit);
        const before = parseEntryCursor(query.get('cursor'));
        const found = await lookUp('balance_lookup_failed', () =>
          findStatement(sql, signedIn.userId, accountId, before, limit + 1),
        );
        const present = (entry: Entry) => presentEntry(entry, found);
        const page = presentPage(found.entries, limit, present, ({ number }) => `${number}`);
        return Response.json({ account: found.account, ...page } satisfies Unsent<OperatorStatement>);
      },
    },
  };
}

function presentBooked({ outcome, accountId, entryNumber, amount, balance, held }: Booked): BookedMovement {
  return {
    account_id: accountId,
    entry_number: entryNumber === null ? null : Number(entryNumber),
    amount: formatMoney(amount),
    balance: formatMoney(balance),
    held: formatMoney(held),
    is_repeated: outcome === 'repeated',
  };
}

type FoundStatement = Readonly<{
  account: Unsent<OperatorAccount>;
  entries: readonly Entry[];
  /** Of the operators who made some of the entries, by their IDs. */
  emails: ReadonlyMap<string, string>;
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
  return await sql.begin('isolation level repeatable read', async (transaction) => {
    await requireOperator(transaction, operatorId);
    const account = await findAccount(transaction, operatorId, accountId);
    if (account === null) throw new ApiError('account_not_found');
    const entries = await findEntries(transaction, accountId, before, rowCount);
    const ids = entries.flatMap(({ actor }) =>
      actor?.startsWith(operatorActor) ? [actor.slice(operatorActor.length)] : [],
    );
    const users = await transaction<{ id: string; email: string }[]>`
      select id, email from users where id = any (${transaction.array(ids, 'uuid')})`;
    const generations = await transaction<{ id: string; model: string }[]>`
      select id, model from generations
      where id = any (${transaction.array(entries.flatMap(generationsOf), 'uuid')})`;
    return {
      account,
      entries,
      emails: new Map(users.map(({ id, email }) => [id, email])),
      models: new Map(generations.map(({ id, model }) => [id, model])),
    };
  });
}

const operatorActor = 'operator:';

/** At most one: what it is for, or about. */
function generationsOf({ generationId, concernsGenerationId }: Entry): string[] {
  const id = generationId ?? concernsGenerationId;
  return id === null ? [] : [id];
}

/** An operator by their e-mail address, others by what they are known as. */
function presentActor(
  actor: string,
  emails: ReadonlyMap<string, string>,
): NonNullable<OperatorEntry['actor']> {
  const [kind = '', name = ''] = actor.split(/:(.*)/s);
  return { kind: kind as 'operator' | 'shell' | 'token', name: emails.get(name) ?? name };
}

type Names = Pick<FoundStatement, 'emails' | 'models'>;

function presentEntry(entry: Entry, { emails, models }: Names): Unsent<OperatorEntry> {
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
    actor: entry.actor === null ? null : presentActor(entry.actor, emails),
    created_at: entry.createdAt,
  };
}
