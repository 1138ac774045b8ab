/** Where events of all accounts, and the operator's own, are sent. */
import { type WebhookDoor, WebhookDoorProvider } from '../../webhooks/queries.ts';
import { WebhooksView } from '../../webhooks/webhooks-view.tsx';
import { operatorPath } from '../operator-query.ts';

const door: WebhookDoor = {
  path: operatorPath,
  queryKey: ['operator', 'webhooks'],
  isOperators: true,
  mayChange: true,
};

export function OperatorWebhooksPage() {
  return (
    <WebhookDoorProvider value={door}>
      <WebhooksView description="Your own systems are told what happens to all accounts, to providers and to the gateway. Owners have webhooks of their own." />
    </WebhookDoorProvider>
  );
}
