/**
 * Receives webhooks over http for the operator and over https for a customer, and notes each delivery. Mostly it answers, but
 * some get an error, or no answer, or the end of their connection, after they were noted.
 */
import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { receiverCertificate, receiverKey } from '../../tests/support/webhook-receiver.ts';
import type { Random } from '../random.ts';

/** The address that the certificate is for. */
const secureHost = '127.0.0.2';

export const receiverSettings = {
  WEBHOOK_NETWORKS: `${secureHost}/32`,
  NODE_EXTRA_CA_CERTS: receiverCertificate,
};

export const endpointNames = ['operator', 'customer'] as const;
export type EndpointName = (typeof endpointNames)[number];

/** `stale`: made by a gateway whose clock is off, and refused for that. */
type Reply = 'done' | 'error' | 'silence' | 'close' | 'stale';

export type ReceivedDelivery = Readonly<{
  endpoint: EndpointName;
  /** Of the header, and of the body. */
  webhookId: string;
  eventId: string;
  type: string;
  accountId: string | null;
  sequence: number;
  /** Of the whole body. */
  digest: string;
  isSigned: boolean;
  reply: Reply;
  atMs: number;
}>;

export type WebhookReceiver = Readonly<{
  urlOf: (name: EndpointName) => string;
  setSecret: (name: EndpointName, secret: string) => void;
  log: readonly ReceivedDelivery[];
  /** From now on it answers everything. */
  calm: () => void;
  /** Where each delivery is noted, too. */
  noteIn: (folder: string) => void;
  stop: () => void;
}>;

const toleranceMs = 5 * 60_000;
/** Longer than a gateway waits. */
const silenceMs = 4_000;

export async function startWebhookReceiver(random: Random): Promise<WebhookReceiver> {
  const log: ReceivedDelivery[] = [];
  const secrets = new Map<EndpointName, string>();
  let isCalm = false;
  let file: number | null = null;

  function chooseReply(): Reply {
    if (isCalm) return 'done';
    const chance = random.next();
    if (chance < 0.03) return 'error';
    if (chance < 0.04) return 'silence';
    return chance < 0.06 ? 'close' : 'done';
  }

  async function receive(name: EndpointName, request: IncomingMessage): Promise<Reply> {
    const text = await textOf(request);
    const isStale = Math.abs(Date.now() - 1_000 * Number(request.headers['webhook-timestamp'])) > toleranceMs;
    const reply = isStale ? 'stale' : chooseReply();
    const delivery = deliveryOf(name, request, text, secrets.get(name) ?? '', reply);
    log.push(delivery);
    if (file !== null) writeSync(file, `${JSON.stringify(delivery)}\n`);
    return reply;
  }

  const answering = (name: EndpointName) => (request: IncomingMessage, response: ServerResponse) => {
    receive(name, request)
      .then(async (reply) => {
        if (reply === 'silence') await Bun.sleep(silenceMs);
        if (reply === 'silence' || reply === 'close') request.socket.destroy();
        else response.writeHead({ done: 200, error: 500, stale: 400 }[reply]).end();
      })
      // The gateway was killed in the middle of its request.
      .catch(() => request.socket.destroy());
  };

  const plain = createServer(answering('operator'));
  const secure = createSecureServer(
    { cert: readFileSync(receiverCertificate), key: readFileSync(receiverKey) },
    answering('customer'),
  );
  await listening(plain, '127.0.0.1');
  await listening(secure, secureHost);
  const portOf = (server: typeof plain) => (server.address() as AddressInfo).port;
  const urls = {
    operator: `http://127.0.0.1:${portOf(plain)}/events`,
    customer: `https://${secureHost}:${portOf(secure)}/events`,
  };
  return {
    urlOf: (name) => urls[name],
    setSecret: (name, secret) => secrets.set(name, secret),
    log,
    calm: () => {
      isCalm = true;
    },
    noteIn: (folder) => {
      file = openSync(join(folder, 'deliveries.jsonl'), 'a');
    },
    stop: () => {
      for (const server of [plain, secure]) {
        server.close();
        server.closeAllConnections();
      }
      if (file !== null) closeSync(file);
      file = null;
    },
  };
}

function deliveryOf(
  endpoint: EndpointName,
  { headers }: IncomingMessage,
  text: string,
  secret: string,
  reply: Reply,
): ReceivedDelivery {
  const header = (name: string) => `${headers[name] ?? ''}`;
  const webhookId = header('webhook-id');
  const sentAt = new Date(1_000 * Number(header('webhook-timestamp')));
  const body = JSON.parse(text) as { id: string; type: string; account_id: string | null; sequence: number };
  const signatures = header('webhook-signature').split(' ');
  return {
    endpoint,
    webhookId,
    eventId: body.id,
    type: body.type,
    accountId: body.account_id,
    sequence: body.sequence,
    digest: createHash('sha256').update(text).digest('base64url'),
    isSigned: signatures.includes(new Webhook(secret).sign(webhookId, sentAt, text)),
    reply,
    atMs: Date.now(),
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  if (!request.complete) throw new Error('The request was cut off.');
  return Buffer.concat(chunks).toString('utf8');
}

function listening(server: ReturnType<typeof createServer>, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, host, () => resolve());
  });
}
