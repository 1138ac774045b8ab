/** Where events are sent: `tollgate webhook …`. */
import type { SQL, TransactionSQL } from 'bun';
import { accountExists } from '../accounts/account-store.ts';
import type { ShellActor } from '../audit-log/audit-log.ts';
import type { Config } from '../config.ts';
import { findSecret } from '../database/gateway-secret.ts';
import { countOtherSecrets, fingerprintOf } from '../database/node-secrets.ts';
import { ApiError } from '../errors.ts';
import { eventIdFromUuid } from '../events/event.ts';
import { deriveKeys } from '../lib/derived-keys.ts';
import { isUuid } from '../lib/ids.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { shortTransaction } from '../lib/short-transaction.ts';
import { readEndpointDraft } from '../webhooks/endpoint-body.ts';
import {
  changeEndpointAs,
  createEndpointAs,
  type Endpoint,
  endpointColumns,
  type OwnedEndpoint,
  rotateSecretAs,
  sendTest,
} from '../webhooks/endpoint-store.ts';
import { type Replay, replay as replayEvents } from '../webhooks/replay.ts';
import { noSuchAccount } from './account-commands.ts';
import { type Arguments, readAccountId, readTime, readWebhookId, UsageError } from './arguments.ts';
import { type DatabaseCommand, formatList } from './command.ts';
import { shellActor } from './shell-user.ts';

const create: DatabaseCommand = {
  name: 'webhook create',
  summary:
    'Send events to an address: all of them, or with --account those of an account. The secret is shown only once.',
  positionals: ['URL'],
  options: [
    { name: 'account', value: 'ID' },
    { name: 'types', value: 'TYPE,…' },
    { name: 'description', value: 'TEXT' },
  ],
  run: async (sql, words, config) => {
    const account = words.text('account');
    const accountId = account === null ? null : readAccountId(account, '--account');
    const types = words.text('types')?.split(',') ?? null;
    const given = {
      url: words.positionals[0],
      description: words.text('description') ?? '',
      types: types?.map((type) => type.trim()) ?? null,
    };
    const { id, secret } = await inWords(async () => {
      const draft = readEndpointDraft(given, { accountId });
      if (accountId !== null && !(await accountExists(sql, accountId))) throw noSuchAccount(accountId);
      const encryptionKey = await openKey(config, sql);
      return await shortTransaction(sql, (transaction) =>
        createEndpointAs(transaction, shellActor(config), { accountId }, draft, encryptionKey),
      );
    });
    return {
      json: { id, account_id: accountId, secret },
      text: `Webhook ${id} was created. Keep its secret safe: it is not shown again.\n${secret}`,
    };
  },
};

const list: DatabaseCommand = {
  name: 'webhook list',
  summary:
    'List the newest 1,000 webhooks of all accounts and of the operator, with those that fail, or with --account those of an account.',
  options: [{ name: 'account', value: 'ID' }],
  run: async (sql, words) => {
    const account = words.text('account');
    const webhooks = await findNewest(sql, account === null ? null : readAccountId(account, '--account'));
    return { json: webhooks.map(withHost), text: formatWebhooks(webhooks) };
  },
};

const disable: DatabaseCommand = {
  name: 'webhook disable',
  summary: 'Send nothing to a webhook from now on.',
  positionals: ['ID'],
  run: (sql, words, config) => setEnabled(sql, words, config, false),
};

const enable: DatabaseCommand = {
  name: 'webhook enable',
  summary: 'Send events to a webhook again. What was still due comes first; replay what it has missed.',
  positionals: ['ID'],
  run: (sql, words, config) => setEnabled(sql, words, config, true),
};

async function setEnabled(sql: SQL, words: Arguments, config: Config, isEnabled: boolean) {
  const { id } = await changeOne(sql, words, config, (transaction, owned, actor) =>
    changeEndpointAs(transaction, actor, owned, { isEnabled }),
  );
  return {
    json: { id, is_enabled: isEnabled },
    text: `Webhook ${id} is ${isEnabled ? 'enabled' : 'disabled'}.`,
  };
}

const rotate: DatabaseCommand = {
  name: 'webhook rotate',
  summary: 'Replace the secret of a webhook. It is shown only once. For a day, the one before signs too.',
  positionals: ['ID'],
  run: async (sql, words, config) => {
    const { id, result: secret } = await changeOne(sql, words, config, async (transaction, owned, actor) =>
      rotateSecretAs(transaction, actor, owned, await openKey(config, transaction)),
    );
    return {
      json: { id, secret },
      text: `Webhook ${id} has a new secret. Keep it safe: it is not shown again.\n${secret}`,
    };
  },
};

const test: DatabaseCommand = {
  name: 'webhook test',
  summary: 'Send an event of the type webhook.test to a webhook.',
  positionals: ['ID'],
  run: async (sql, words, config) => {
    const { id, result } = await changeOne(sql, words, config, sendTest);
    const eventId = eventIdFromUuid(result);
    return {
      json: { id, event_id: eventId },
      text: `Event ${eventId} is on its way to webhook ${id}. The page of webhooks shows what came of it.`,
    };
  },
};

const replay: DatabaseCommand = {
  name: 'webhook replay',
  summary: 'Send one delivery again, or all events of a time that a webhook gets. They keep their IDs.',
  positionals: ['ID'],
  options: [
    { name: 'delivery', value: 'ID' },
    { name: 'from', value: 'ISO' },
    { name: 'to', value: 'ISO (now)' },
  ],
  run: async (sql, words, config) => {
    const what = readReplay(words);
    const { id, result: count } = await changeOne(sql, words, config, (transaction, owned) =>
      replayEvents(transaction, owned, what),
    );
    return { json: { id, deliveries: count }, text: `${count} deliveries to webhook ${id} are due.` };
  },
};

function readReplay(words: Arguments): Replay {
  const [deliveryId, from, to] = [words.text('delivery'), words.text('from'), words.text('to')];
  if ((deliveryId === null) === (from === null) || (deliveryId !== null && to !== null))
    throw new UsageError('Give either --delivery, or --from and perhaps --to.');
  if (deliveryId !== null) {
    if (!isUuid(deliveryId)) throw new UsageError(`--delivery must be an ID, but is "${deliveryId}".`);
    return { deliveryId };
  }
  const range = { from: readTime(from ?? '', '--from'), to: to === null ? new Date() : readTime(to, '--to') };
  if (range.from >= range.to) throw new UsageError('--from must be before --to.');
  return range;
}

type Change<Result> = (
  transaction: TransactionSQL,
  owned: OwnedEndpoint,
  actor: ShellActor,
) => Promise<Result>;

/** Of whomever it is: whoever has a shell is the operator. */
async function changeOne<Result>(sql: SQL, words: Arguments, config: Config, change: Change<Result>) {
  const id = readWebhookId(words.positionals[0] ?? '', 'ID');
  const result = await inWords(() =>
    shortTransaction(sql, async (transaction) => {
      const [row] = await transaction<{ account_id: string | null }[]>`
        select account_id from webhook_endpoints where id = ${id}`;
      if (row === undefined)
        throw new OperatorError(`There is no webhook ${id}. List them with: tollgate webhook list`);
      return await change(transaction, { id, accountId: row.account_id }, shellActor(config));
    }),
  );
  return { id, result };
}

/** How old the last heartbeat of a running gateway can be. */
const heartbeatSeconds = 60;

/** Gateways could not sign with a secret that was encrypted with another key than theirs. */
async function openKey(config: Config, sql: SQL): Promise<Buffer> {
  const deriveKey = deriveKeys(await findSecret(config, sql));
  if ((await countOtherSecrets(sql, fingerprintOf(deriveKey), heartbeatSeconds)) > 0)
    throw new OperatorError(
      'Running gateways have another AUTH_SECRET, and could not read the secret of this webhook. Set the same one for this command.',
    );
  return deriveKey('webhook secrets');
}

/** What the functions that all doors share refuse, without the form of an HTTP error. */
async function inWords<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    throw error instanceof ApiError ? new OperatorError(error.message) : error;
  }
}

const maxListed = 1_000;

async function findNewest(sql: SQL, accountId: string | null): Promise<Endpoint[]> {
  return await sql<Endpoint[]>`
    select ${endpointColumns(sql)} from webhook_endpoints
    where ${accountId}::uuid is null or account_id = ${accountId}::uuid order by id desc limit ${maxListed}::int`;
}

/** An address may have a secret in its path, which need not be on a screen or in a file. */
function withHost({ url, ...webhook }: Endpoint) {
  return { ...webhook, host: new URL(url).host };
}

function formatWebhooks(webhooks: readonly Endpoint[]): string {
  return formatList(
    ['ID', 'ACCOUNT', 'HOST', 'STATE', 'EVENTS', 'FAILING SINCE'],
    webhooks
      .map(withHost)
      .map((webhook) => [
        webhook.id,
        webhook.account_id ?? 'operator',
        webhook.host,
        webhook.disabled_because === null ? 'enabled' : `disabled (${webhook.disabled_because})`,
        webhook.types?.join(',') ?? 'all',
        webhook.failing_since?.toISOString() ?? '-',
      ]),
    'No webhooks yet.',
  );
}

export const webhookCommands = [create, list, disable, enable, rotate, test, replay];
