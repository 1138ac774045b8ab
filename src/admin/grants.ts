/** The grants of an account, and its allowances: read, list, void, create, end. */
import type { SQL } from 'bun';
import { idIn } from '../console/access.ts';
import { ApiError } from '../errors.ts';
import {
  type Allowance,
  createAllowanceAs,
  endAllowanceAs,
  findAllowance,
  findAllowances,
} from '../grants/allowances.ts';
import { allowanceDraftSchema, voidSchema } from '../grants/grant-body.ts';
import { findActiveGrants, findGrant, findGrants, type Grant, voidGrant } from '../grants/grant-store.ts';
import { presentAllowance, presentGrant } from '../grants/present.ts';
import { refusalOfVoid } from '../grants/refusals.ts';
import { invalidQuery, type Query } from '../http/query.ts';
import { readIdempotencyKey } from '../idempotency/idempotency-key.ts';
import { parseBody } from '../json/problem.ts';
import { accountOf } from './account.ts';
import { type Call, changing, type Endpoints, nothing, reading } from './endpoint.ts';
import { numberAtPosition, pageOf, pageParameters, positionOfNumber, readPage } from './page.ts';
import type { AdminServices } from './services.ts';

export function grantEndpoints(services: AdminServices): Endpoints {
  return { ...grantsOf(services), ...allowancesOf(services) };
}

function grantsOf({ sql, deriveKey }: AdminServices): Endpoints {
  const cursorKey = deriveKey('admin cursor');
  return {
    '/accounts/:account/grants': {
      GET: reading({
        scope: 'read',
        query: [...pageParameters, 'active'],
        read: async (call) => {
          const isActive = readActive(call.query);
          const accountId = await accountOf(sql, call);
          const page = readPage(call.query, ['grants', accountId, isActive ? 'active' : null], cursorKey);
          const last = call.query.get('cursor') === null ? null : numberAtPosition(page.before);
          const count = page.limit + 1;
          const found = isActive
            ? await findActiveGrants(sql, accountId, { after: last, count })
            : await findGrants(sql, accountId, { before: last, count });
          const present = (grant: Grant) => presentOwn(grant, accountId);
          return { body: pageOf(found, page, present, ({ number }) => positionOfNumber(number)) };
        },
      }),
    },
    '/accounts/:account/grants/:grant': {
      GET: reading({
        scope: 'read',
        read: async (call) => {
          const accountId = await accountOf(sql, call);
          return { body: await showGrant(sql, accountId, grantIn(call)) };
        },
      }),
    },
    '/accounts/:account/grants/:grant/void': {
      POST: changing({
        scope: 'money',
        parse: (body) => parseBody(voidSchema, body),
        change: async (transaction, call) => {
          const accountId = await accountOf(transaction, call);
          const id = grantIn(call);
          const { reason } = call.body;
          const refusal = refusalOfVoid(await voidGrant(transaction, call.actor, { accountId, id, reason }));
          if (refusal !== null) throw new ApiError(refusal.code, { message: refusal.message });
          return { body: await showGrant(transaction, accountId, id) };
        },
      }),
    },
  };
}

function allowancesOf({ sql }: AdminServices): Endpoints {
  return {
    '/accounts/:account/allowances': {
      GET: reading({
        scope: 'read',
        read: async (call) => {
          const allowances = await findAllowances(sql, await accountOf(sql, call));
          const data = allowances.map(presentOwnAllowance);
          return { body: { object: 'list', data, has_more: false, next_cursor: null } };
        },
      }),
      POST: changing({
        scope: 'money',
        parse: (body) => parseBody(allowanceDraftSchema, body),
        change: async (transaction, call) => {
          requireRetryable(call.headers);
          const accountId = await accountOf(transaction, call);
          const created = await createAllowanceAs(transaction, call.actor, { accountId, ...call.body });
          if (created === 'no_account') throw new ApiError('account_not_found');
          if (created === 'too_many') throw new ApiError('too_many_allowances');
          return { status: 201, body: presentOwnAllowance(created) };
        },
      }),
    },
    '/accounts/:account/allowances/:allowance': {
      GET: reading({
        scope: 'read',
        read: async (call) => {
          const accountId = await accountOf(sql, call);
          const found = await findAllowance(sql, { accountId, id: allowanceIn(call) });
          return { body: presentOwnAllowance(requireFound(found)) };
        },
      }),
    },
    '/accounts/:account/allowances/:allowance/end': {
      POST: changing({
        scope: 'money',
        parse: nothing,
        change: async (transaction, call) => {
          const accountId = await accountOf(transaction, call);
          const ended = await endAllowanceAs(transaction, call.actor, { accountId, id: allowanceIn(call) });
          return { body: presentOwnAllowance(requireFound(ended)) };
        },
      }),
    },
  };
}

function readActive(query: Query): boolean {
  const text = query.get('active');
  if (text !== null && text !== 'true' && text !== 'false') throw invalidQuery('active', 'true or false');
  return text === 'true';
}

/** After a lost response a program sends its request again, and must not create it twice. */
function requireRetryable(headers: Headers): void {
  if (readIdempotencyKey(headers) !== null) return;
  throw new ApiError('invalid_parameter', {
    param: 'Idempotency-Key',
    message: 'An allowance needs an Idempotency-Key, so that it is given once.',
  });
}

function grantIn({ params }: Pick<Call, 'params'>): string {
  return idIn(params, 'grant', 'grant_not_found');
}

function allowanceIn({ params }: Pick<Call, 'params'>): string {
  return idIn(params, 'allowance', 'allowance_not_found');
}

async function showGrant(sql: SQL, accountId: string, id: string) {
  const grant = await findGrant(sql, { accountId, id });
  if (grant === null) throw new ApiError('grant_not_found');
  return presentOwn(grant, accountId);
}

function requireFound(allowance: Allowance | null): Allowance {
  if (allowance === null) throw new ApiError('allowance_not_found');
  return allowance;
}

function presentOwn(grant: Grant, accountId: string) {
  return { object: 'grant', account_id: accountId, ...presentGrant(grant) };
}

function presentOwnAllowance(allowance: Allowance) {
  return { object: 'allowance', ...presentAllowance(allowance) };
}
