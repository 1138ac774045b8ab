/** Where events are sent: `tollgate webhook …`. */
import type { SQL } from 'bun';
import { type Endpoint, endpointColumns } from '../webhooks/endpoint-store.ts';
import { type DatabaseCommand, formatList } from './command.ts';

const list: DatabaseCommand = {
  name: 'webhook list',
  summary: 'List the webhooks of all accounts and of the operator, with those that fail.',
  run: async (sql) => {
    const webhooks = await findAll(sql);
    return { json: webhooks, text: formatWebhooks(webhooks) };
  },
};

async function findAll(sql: SQL): Promise<Endpoint[]> {
  return await sql<Endpoint[]>`select ${endpointColumns(sql)} from webhook_endpoints order by id`;
}

/** An address may have a secret in its path, which need not be on a screen. */
function formatWebhooks(webhooks: readonly Endpoint[]): string {
  return formatList(
    ['ID', 'ACCOUNT', 'HOST', 'STATE', 'EVENTS', 'FAILING SINCE'],
    webhooks.map((webhook) => [
      webhook.id,
      webhook.account_id ?? 'operator',
      new URL(webhook.url).host,
      webhook.disabled_because === null ? 'enabled' : `disabled (${webhook.disabled_because})`,
      webhook.types?.join(',') ?? 'all',
      webhook.failing_since?.toISOString() ?? '-',
    ]),
    'No webhooks yet.',
  );
}

export const webhookCommands = [list];
