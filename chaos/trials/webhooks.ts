/** Two webhooks for all events, made before anything breaks: one of the operator, one of a customer's account. */
import type { EndpointName, WebhookReceiver } from '../world/webhook-receiver.ts';
import { endpointNames } from '../world/webhook-receiver.ts';
import type { World } from '../world/world.ts';

export type MadeEndpoint = Readonly<{
  name: EndpointName;
  id: string;
  /** Null for the operator's, which gets the events of all accounts. */
  accountId: string | null;
}>;

export async function createWebhooks(
  world: World,
  receiver: WebhookReceiver,
  { token, customer }: Readonly<{ token: string; customer: string }>,
): Promise<MadeEndpoint[]> {
  const made: MadeEndpoint[] = [];
  for (const name of endpointNames) {
    const accountId = name === 'customer' ? customer : null;
    const response = await fetch(`${world.nodes[0]?.origin}/admin/v1/webhooks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: receiver.urlOf(name), account_id: accountId }),
    });
    const body = (await response.json()) as { id: string; secret: string };
    if (response.status !== 201) throw new Error(`No webhook was made: ${JSON.stringify(body)}`);
    receiver.setSecret(name, body.secret);
    made.push({ name, id: body.id, accountId });
  }
  return made;
}
