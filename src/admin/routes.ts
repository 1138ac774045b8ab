/** Every route below /admin/v1, with the scope that it needs. */
import type { Handler } from '../http/context.ts';
import { accountEndpoints } from './accounts.ts';
import { activityEndpoints } from './activity.ts';
import { authenticateTokens } from './authenticate.ts';
import { type Endpoints, endpointHandlers, type Method } from './endpoint.ts';
import { eventEndpoints } from './events.ts';
import { exportEndpoints } from './exports.ts';
import { gatewayEndpoints, ownEndpoints } from './gateway.ts';
import { grantEndpoints } from './grants.ts';
import { keyEndpoints } from './keys.ts';
import { limitEndpoints } from './limits.ts';
import { invitationEndpoints, memberEndpoints } from './members.ts';
import { moneyEndpoints } from './money.ts';
import { movementEndpoints } from './movements.ts';
import { paymentEndpoints } from './payments.ts';
import type { AdminServices } from './services.ts';
import { webhookEndpoints } from './webhooks.ts';

export const adminPrefix = '/admin/v1';

/** `document` is the text of the OpenAPI document with the admin API. */
export function adminEndpoints(services: AdminServices, document: () => Promise<string>): Endpoints {
  return {
    ...accountEndpoints(services),
    ...keyEndpoints(services),
    ...limitEndpoints(services),
    ...memberEndpoints(services),
    ...invitationEndpoints(services),
    ...movementEndpoints,
    ...grantEndpoints(services),
    ...moneyEndpoints(services),
    ...paymentEndpoints(services),
    ...activityEndpoints(services),
    ...exportEndpoints(services),
    ...eventEndpoints(services),
    ...webhookEndpoints(services),
    ...gatewayEndpoints(services),
    ...ownEndpoints(services, document),
  };
}

export function adminRoutes(
  services: AdminServices,
  document: () => Promise<string>,
): Record<string, Partial<Record<Method, Handler>>> {
  const handlerOf = endpointHandlers({
    sql: services.sql,
    authenticateToken: authenticateTokens(services.sql),
    encryptionKey: services.deriveKey('admin responses'),
  });
  return Object.fromEntries(
    Object.entries(adminEndpoints(services, document)).map(([path, methods]) => [
      adminPrefix + path,
      Object.fromEntries(Object.entries(methods).map(([method, endpoint]) => [method, handlerOf(endpoint)])),
    ]),
  );
}
