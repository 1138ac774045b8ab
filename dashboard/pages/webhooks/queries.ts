/** Owners and operators have the same pages, at different paths. */
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, useContext } from 'react';
import type { Page } from '../../../src/console/contract.ts';
import type {
  NewWebhook,
  Webhook,
  WebhookDelivery,
  WebhookPage,
  WebhookReplay,
  WebhookTest,
} from '../../../src/console/event-contract.ts';
import { get, patch, post, remove } from '../../api/client.ts';

/** Where the webhooks of a page are, and how what is known of them is named. */
export type WebhookDoor = Readonly<{
  path: (...segments: readonly string[]) => string;
  queryKey: readonly string[];
  isOperators: boolean;
  /** False for operators who look at the webhooks of an account. */
  mayChange: boolean;
}>;

const DoorContext = createContext<WebhookDoor | null>(null);
export const WebhookDoorProvider = DoorContext.Provider;

export function useDoor(): WebhookDoor {
  const door = useContext(DoorContext);
  if (door === null) throw new Error('These webhooks belong to nobody.');
  return door;
}

const refreshMs = 5_000;

export function useWebhooks() {
  const { path, queryKey } = useDoor();
  return useQuery({
    queryKey: [...queryKey, 'list'],
    queryFn: ({ signal }) => get<WebhookPage>(path('webhooks'), { signal }),
    refetchInterval: refreshMs,
  });
}

export function useDeliveries(webhookId: string, limit: number, cursor: string | null) {
  const { path, queryKey } = useDoor();
  return useQuery({
    queryKey: [...queryKey, webhookId, limit, cursor],
    queryFn: ({ signal }) =>
      get<Page<WebhookDelivery>>(path('webhooks', webhookId, 'deliveries'), {
        query: { limit, cursor },
        signal,
      }),
    refetchInterval: refreshMs,
    placeholderData: keepPreviousData,
  });
}

function useWebhookMutation<Input, Body>(call: (door: WebhookDoor, input: Input) => Promise<Body>) {
  const door = useDoor();
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (input: Input) => call(door, input),
    onSettled: () => queryClient.invalidateQueries({ queryKey: door.queryKey }),
  });
}

export type WebhookDraft = { url: string; description: string; types: string[] | null };
export type WebhookChange = Partial<WebhookDraft> & { is_enabled?: boolean };

export function useCreateWebhook() {
  return useWebhookMutation(({ path }, draft: WebhookDraft) => post<NewWebhook>(path('webhooks'), draft));
}

export function useChangeWebhook(id: string) {
  return useWebhookMutation(({ path }, change: WebhookChange) =>
    patch<Webhook>(path('webhooks', id), change),
  );
}

export function useRemoveWebhook(id: string) {
  return useWebhookMutation<void, null>(({ path }) => remove(path('webhooks', id)));
}

export function useRotateSecret(id: string) {
  return useWebhookMutation<void, NewWebhook>(({ path }) => post(path('webhooks', id, 'rotate-secret')));
}

export function useSendTest() {
  return useWebhookMutation(({ path }, id: string) => post<WebhookTest>(path('webhooks', id, 'test')));
}

export function useReplay(id: string) {
  return useWebhookMutation(({ path }, what: { delivery_id: string } | { from: string; to: string }) =>
    post<WebhookReplay>(path('webhooks', id, 'replay'), what),
  );
}
