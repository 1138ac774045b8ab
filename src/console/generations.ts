/** The requests of all keys of an account. */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import { decodeCursor, encodeCursor } from '../generations/cursor.ts';
import { newestPosition } from '../generations/generation-store.ts';
import { listParameters, parseListQuery } from '../generations/parse-list.ts';
import { presentGeneration, presentSummary } from '../generations/present.ts';
import { lookUp } from '../http/lookup.ts';
import { presentPage } from '../http/present-page.ts';
import { invalidQuery, readQuery } from '../http/query.ts';
import { uuidFromRequestId } from '../lib/ids.ts';
import { formatMoney } from '../lib/money.ts';
import { isUuid } from './access.ts';
import type { GenerationDetail, GenerationRow, Page } from './contract.ts';
import {
  type DetailedGeneration,
  findDetail,
  findPage,
  type ListedGeneration,
} from './generation-queries.ts';
import type { AccountHandler, Routes } from './guard.ts';

const failure = 'generation_lookup_failed';
const defaultLimit = 50;
/** A text that is not a request ID is looked up as this one, so that only members learn that it is none. */
const nobodysId = '00000000-0000-0000-0000-000000000000';

/** `cursorKey` signs the cursors. */
type GenerationsServices = Readonly<{ sql: SQL; cursorKey: Uint8Array }>;

export function generationsPage({ sql, cursorKey }: GenerationsServices): Routes<AccountHandler> {
  return {
    '/generations': {
      GET: async (request, { caller }) => {
        const query = readQuery(request.url, [...listParameters, 'key']);
        const { limit, cursor, filter } = parseListQuery(query, defaultLimit);
        const keyId = parseKey(query.get('key'));
        const scope = [caller.accountId, keyId, filter.status, filter.model] as const;
        const position =
          cursor === null ? newestPosition : decodeCursor(cursor, scope, cursorKey, Date.now());
        if (position === null) throw new ApiError('invalid_cursor', { param: 'cursor' });
        // One more than requested shows whether there is another page.
        const found = await lookUp(failure, () =>
          findPage(sql, caller, { ...filter, keyId }, position, limit + 1),
        );
        const cursorOf = (last: ListedGeneration) => encodeCursor(last.id, scope, cursorKey, Date.now());
        return Response.json(presentPage(found, limit, presentRow, cursorOf) satisfies Page<GenerationRow>);
      },
    },
    '/generations/:generation': {
      GET: async (request, { caller, params }) => {
        readQuery(request.url, []);
        const id = uuidFromRequestId(params.generation ?? '') ?? nobodysId;
        const generation = await lookUp(failure, () => findDetail(sql, caller, id));
        if (generation === null)
          throw new ApiError('generation_not_found', {
            message: 'This account has no request with this ID.',
          });
        return Response.json(presentDetail(generation));
      },
    },
  };
}

function parseKey(text: string | null): string | null {
  if (text !== null && !isUuid(text)) throw invalidQuery('key', 'the ID of a key');
  return text;
}

function presentRow(generation: ListedGeneration): GenerationRow {
  return { ...presentSummary(generation), key: generation.key };
}

export function presentDetail(generation: DetailedGeneration): GenerationDetail {
  const { key, status, charged, refunded, isEstimated, writtenOff, writeOffReason } = generation;
  return {
    ...presentGeneration(generation),
    key,
    ledger:
      status === 'in_progress'
        ? null
        : {
            charged: charged ?? formatMoney(0n),
            refunded,
            is_estimated: isEstimated,
            written_off: writtenOff,
            write_off_reason: writeOffReason,
          },
  };
}
