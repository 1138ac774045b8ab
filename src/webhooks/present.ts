/** Webhooks and their deliveries, as both doors show them. */
import { eventIdFromUuid } from '../events/event.ts';
import type { Delivery } from './delivery-store.ts';
import type { Endpoint } from './endpoint-store.ts';

/** Without the account, which one door has in its address and the other adds. */
export function presentEndpoint(endpoint: Endpoint) {
  return {
    id: endpoint.id,
    url: endpoint.url,
    description: endpoint.description,
    types: endpoint.types === null ? null : [...endpoint.types],
    is_enabled: endpoint.disabled_at === null,
    disabled_because: endpoint.disabled_because,
    failing_since: endpoint.failing_since?.toISOString() ?? null,
    previous_secret_until: endpoint.previous_until?.toISOString() ?? null,
    created_at: endpoint.created_at.toISOString(),
  };
}

export function presentDelivery(delivery: Delivery) {
  return {
    id: delivery.id,
    event_id: eventIdFromUuid(delivery.event_id),
    type: delivery.type,
    state: delivery.state,
    attempts: delivery.attempts,
    status: delivery.status,
    problem: delivery.problem,
    took_ms: delivery.took_ms,
    request_head: delivery.request_head,
    response_head: delivery.response_head,
    created_at: delivery.created_at.toISOString(),
    attempted_at: delivery.attempted_at?.toISOString() ?? null,
    next_attempt_at: delivery.next_at?.toISOString() ?? null,
  };
}
