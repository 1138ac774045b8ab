/** Tells by mail whose webhook was disabled: the owners of its account, or the operators. */
import type { SQL } from 'bun';
import { linkMail, type Mailer } from '../people/mailer.ts';

const reasons = {
  gone: 'It answered that it is gone for good (410).',
  failing: 'Nothing has reached it for three days.',
} as const;

const maxRecipients = 20;

/** Returns at once. Without mail, the page of webhooks still shows it. */
export function openDisabledMail(
  sql: SQL,
  mailer: Mailer | null,
): (endpointId: string, because: keyof typeof reasons) => void {
  return (endpointId, because) => {
    if (mailer === null) return;
    findRecipients(sql, endpointId)
      .then(({ accountId, host, emails }) => {
        const page = accountId === null ? '/operator/webhooks' : `/webhooks?account=${accountId}`;
        for (const email of emails)
          mailer.send(async () =>
            linkMail(email, 'A webhook was disabled', {
              greeting: `The webhook at ${host} no longer gets events of ${mailer.origin}. ${reasons[because]}`,
              instruction: 'When it works again, enable it here, and replay what it has missed:',
              url: mailer.origin + page,
              farewell: 'Events are kept for 30 days.',
            }),
          );
      })
      // The page shows it all the same.
      .catch(() => undefined);
  };
}

async function findRecipients(sql: SQL, endpointId: string) {
  const rows = await sql<{ account_id: string | null; url: string; email: string }[]>`
    select webhook_endpoints.account_id, url, email
    from webhook_endpoints
    left join memberships on memberships.account_id = webhook_endpoints.account_id and role = 'owner'
    join users on case when webhook_endpoints.account_id is null then is_operator else users.id = memberships.user_id end
    where webhook_endpoints.id = ${endpointId}
    order by users.id limit ${maxRecipients}::int`;
  const [first] = rows;
  return {
    accountId: first?.account_id ?? null,
    host: first === undefined ? '' : new URL(first.url).host,
    emails: rows.map(({ email }) => email),
  };
}
