/** Where events of the account are sent, for its owners. */
import { useMemo } from 'react';
import { accountKey, accountPath, useAccount } from '../../api/session.ts';
import { LowBalanceCard } from '../billing/low-balance-card.tsx';
import { type WebhookDoor, WebhookDoorProvider } from './queries.ts';
import { WebhooksView } from './webhooks-view.tsx';

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
  return (
    <WebhookDoorProvider value={door}>
      <WebhooksView description="Your own systems are told what happens to this account: credit, budgets, keys, usage by day.">
        <LowBalanceCard />
      </WebhooksView>
    </WebhookDoorProvider>
  );
}
