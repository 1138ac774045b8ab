/** Events, the oldest first, for programs that catch up with what happened. */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import { eventTypes, presentCloudEvent, presentEvent, uuidFromEventId } from '../events/event.ts';
import { findEvents, type PlacedEvent, positionOfEvent } from '../events/event-store.ts';
import { invalidQuery } from '../http/query.ts';
import { isUuid } from '../lib/ids.ts';
import { type Call, type Endpoints, reading } from './endpoint.ts';
import { numberAtPosition, pageOf, pageParameters, positionOfNumber, readPage } from './page.ts';
import type { AdminServices } from './services.ts';

export function eventEndpoints({ sql, deriveKey, publicUrl }: AdminServices): Endpoints {
  const cursorKey = deriveKey('admin cursor');
  // Without an address it is a reference to where they are read.
  const source = publicUrl ?? '/admin/v1/events';
  return {
    '/events': {
      GET: reading({
        scope: 'read',
        query: [...pageParameters, 'account', 'type', 'after', 'format'],
        read: async ({ query }) => {
          const accountId = query.get('account');
          if (accountId !== null && !isUuid(accountId)) throw invalidQuery('account', 'the ID of an account');
          const type = query.get('type');
          if (type !== null && !eventTypes.includes(type)) throw invalidQuery('type', 'a type of event');
          const format = query.get('format') ?? 'tollgate';
          if (!['tollgate', 'cloudevents'].includes(format))
            throw invalidQuery('format', '"tollgate" or "cloudevents"');
          const page = readPage(query, ['events', accountId, type], cursorKey);
          const after = await beginningOf(sql, query, page.before);
          const rows = await findEvents(sql, { accountId, type }, after, page.limit + 1);
          const present = (event: PlacedEvent) =>
            format === 'cloudevents'
              ? presentCloudEvent(event, source)
              : { object: 'event', external_id: event.external_id, ...presentEvent(event) };
          return { body: pageOf(rows, page, present, ({ position }) => positionOfNumber(position)) };
        },
      }),
    },
  };
}

/** A cursor goes on with a list; `after` begins one behind an event that the program knows, however long ago that was. */
async function beginningOf(sql: SQL, query: Call['query'], position: string): Promise<bigint> {
  if (query.get('cursor') !== null) return numberAtPosition(position);
  const after = query.get('after');
  if (after === null) return 0n;
  const id = uuidFromEventId(after);
  if (id === null) throw invalidQuery('after', 'the ID of an event');
  const known = await positionOfEvent(sql, id);
  if (known === null) throw new ApiError('event_not_found', { param: 'after' });
  return known;
}
