/** The console API's webhooks, and the mails that people choose. */

/** What an endpoint can be told. */
export type EventType = string;

/**
 * GET …/webhooks → WebhookPage. Owners only; POST with { url, description?, types? } → NewWebhook. PATCH …/webhooks/ID with
 * { url?, description?, types?, is_enabled? } → Webhook; DELETE removes it. Operators have the same below /operator.
 */
export type Webhook = {
  id: string;
  url: string;
  description: string;
  /** Null for all. */
  types: EventType[] | null;
  is_enabled: boolean;
  /** `owner`: whoever it belongs to; `operator`: only the operator can enable it; `gone`: it answered 410; `failing`: nothing has reached it for three days. */
  disabled_because: 'owner' | 'operator' | 'gone' | 'failing' | null;
  failing_since: string | null;
  /** Until then the secret before this one signs, too. */
  previous_secret_until: string | null;
  created_at: string;
};

export type WebhookPage = {
  data: Webhook[];
  /** Those that can be chosen. */
  types: EventType[];
  max: number;
  /** Below it the account is warned; null for never, and for the operator. */
  low_balance: string | null;
};

/** The secret is in this response only. Also the response to POST …/webhooks/ID/rotate-secret. */
export type NewWebhook = { webhook: Webhook; secret: string };

/** GET …/webhooks/ID/deliveries?limit&cursor → Page<WebhookDelivery>, the newest first. */
export type WebhookDelivery = {
  id: string;
  event_id: string;
  type: EventType;
  state: 'pending' | 'delivered' | 'failed';
  attempts: number;
  /** Of the last response; null without one. */
  status: number | null;
  /** Why there was no response. */
  problem: string | null;
  took_ms: number | null;
  request_head: string | null;
  response_head: string | null;
  created_at: string;
  attempted_at: string | null;
  next_attempt_at: string | null;
};

/** POST …/webhooks/ID/test → which event is sent. */
export type WebhookTest = { event_id: string };

/** POST …/webhooks/ID/replay with { delivery_id } or { from, to } → how many are sent again. */
export type WebhookReplay = { deliveries: number };

/** GET …/alerts, for members. PATCH …/alerts with { low_balance } → what is in force. Owners only. */
export type Alerts = { low_balance: string | null };

export type MailKind = 'low_balance' | 'budget' | 'grant_expiry' | 'key_expiry' | 'payment';

/** GET …/mail-choices, and PATCH with { kinds }: which events of the account the caller gets as mails. */
export type MailChoices = {
  kinds: MailKind[];
  /** Whether the gateway can send mail. */
  is_mail_on: boolean;
};
