/** Where events of the account are sent, for its owners. */
import { Webhook } from 'lucide-react';
import { useMemo } from 'react';
import { accountKey, accountPath, useAccount } from '../../api/session.ts';
import { Page } from '../../kit/page.tsx';
import { EmptyState } from '../../kit/states.tsx';
import { LowBalanceCard } from '../billing/low-balance-card.tsx';
import { type WebhookDoor, WebhookDoorProvider } from './queries.ts';
import { WebhooksView } from './webhooks-view.tsx';

const description =
  'Your own systems are told what happens to this account: credit, budgets, keys, usage by day.';

export function WebhooksPage() {
  const { id, role } = useAccount();
  const door = useMemo<WebhookDoor>(
    () => ({
      path: (...segments) => accountPath(id, ...segments),
      queryKey: accountKey(id, 'webhooks'),
      isOperators: false,
      mayChange: role === 'owner',
    }),
    [id, role],
  );
  if (role === 'member')
    return (
      <Page title="Webhooks" description={description}>
        <EmptyState icon={Webhook} title="For owners only">
          Only owners of this account see its webhooks and what was sent to them.
        </EmptyState>
      </Page>
    );
  return (
    <WebhookDoorProvider value={door}>
      <WebhooksView description={description}>
        <LowBalanceCard />
      </WebhooksView>
    </WebhookDoorProvider>
  );
}
