/**
 * One chat request answered as a stream, from real providers and to a real socket, with a ledger that only takes notes: for
 * what cannot be caused from outside a gateway.
 */
import type { ChatDialect } from '../../src/chat/dialect.ts';
import type { ChatRequest } from '../../src/chat/request.ts';
import { chatStream } from '../../src/chat/stream.ts';
import type { Claim } from '../../src/idempotency/claim.ts';
import { attemptInTurn } from '../../src/inference/attempts.ts';
import { OpenGeneration } from '../../src/inference/generation.ts';
import { ReadOnStreams } from '../../src/inference/read-on-streams.ts';
import type { Settlement, SettlementResult } from '../../src/ledger/operations.ts';
import { newId, requestIdFromUuid } from '../../src/lib/ids.ts';
import { createLog } from '../../src/lib/log.ts';
import type { TokenPrice } from '../../src/pricing/price.ts';
import { Calls } from '../../src/providers/call.ts';
import type { ChatAdapter } from '../../src/providers/chat.ts';
import { ConnectWatchdog } from '../../src/providers/connect-watchdog.ts';
import { type Candidate, CandidatesInTurn } from '../../src/routing/candidates.ts';
import { Gates } from '../../src/routing/gates.ts';
import { testProvider } from './provider.ts';

/** `providers` are tried in this order. */
export type StreamToServe<Asked> = Readonly<{
  /** Responses at a documented path are compared with the published document. */
  path?: string;
  chat: ChatRequest<Asked>;
  dialect: ChatDialect<Asked>;
  providers: readonly Readonly<{ baseUrl: string; adapter: ChatAdapter }>[];
  readOn?: ReadOnStreams;
  claim?: Claim | null;
  settle?: () => Promise<SettlementResult>;
}>;

export type ServedStream = Readonly<{
  url: URL;
  settled: Settlement[];
  waitedMs: number[];
  log: () => string;
  stop: () => Promise<void>;
}>;

const price: TokenPrice = {
  billingType: 'token',
  form: 'flat',
  rates: { input: 1_000_000n, output: 1_000_000n },
  region: null,
  note: null,
};

export function serveStream<Asked>({
  path = '/v1/chat/completions',
  chat,
  dialect,
  providers,
  readOn = new ReadOnStreams(),
  claim = null,
  settle = () => Promise.resolve('settled'),
}: StreamToServe<Asked>): ServedStream {
  const settled: Settlement[] = [];
  const waitedMs: number[] = [];
  let logged = '';
  const log = createLog('error', (line) => {
    logged += line;
  });
  const facts = {
    id: newId(),
    accountId: newId(),
    keyId: newId(),
    workload: 'chat',
    model: 'm',
    streaming: true,
    priceListId: 1,
    idempotencyHash: null,
    createdAtMs: Date.now(),
  };
  const ledger = {
    hold: () => Promise.reject(new Error('not asked')),
    hurry: () => undefined,
    count: () => Promise.reject(new Error('not asked')),
    settle: (settlement: Settlement, _onTimeout?: () => Settlement, waited = 0) => {
      settled.push(settlement);
      waitedMs.push(waited);
      return settle();
    },
    settleOnce: () => Promise.reject(new Error('not asked')),
    outlook: { expected: () => null, surprised: () => undefined },
    isBusy: () => false,
    counts: () => ({ waiting: 0, unsettled: 0 }),
    close: () => Promise.resolve(),
  };
  const candidates = new CandidatesInTurn(providers.map(candidateAt), 'account');
  const first = candidates.current;
  if (first === null) throw new Error('The gate is open.');
  const bounds = { inputTokens: 1_000, outputTokens: 1_000 };
  const bill = { price, bounds, writes: 'none' as const, held: 1_000_000n, leastInputTokens: 10 };
  const server = Bun.serve({
    port: 0,
    fetch: async (request) => {
      const generation = new OpenGeneration(facts, 'p0', first, null, ledger, log);
      const job = { chat, bill, dialect };
      const client = request.signal;
      const run = { requestId: requestIdFromUuid(facts.id), job, generation, claim, client };
      const { open, respond } = chatStream<typeof job.chat.asked>();
      const opening = attemptInTurn(
        generation,
        candidates,
        client,
        () => Promise.resolve(),
        (candidate) => open(job, candidate, generation),
      );
      const response = await respond(run, opening, { readOn, log });
      response.headers.set('x-service-request-id', run.requestId);
      return response;
    },
  });
  return {
    url: new URL(path, server.url),
    settled,
    waitedMs,
    log: () => logged,
    stop: () => server.stop(true),
  };
}

function candidateAt(
  { baseUrl, adapter }: Readonly<{ baseUrl: string; adapter: ChatAdapter }>,
  index: number,
): Candidate {
  const provider = testProvider({ id: `p${index}`, name: `p${index}` });
  const { timeouts } = provider;
  const link = { calls: new Calls(), watchdog: new ConnectWatchdog(baseUrl, true), timeouts };
  return {
    connection: { provider, baseUrl, apiKey: 'x', link, images: null },
    chat: adapter,
    upstreamModel: 'upstream-m',
    weight: null,
    cost: null,
    gate: new Gates().at(provider, 'm'),
    marksCache: false,
    reasoning: null,
    takesVerbosity: false,
  };
}
