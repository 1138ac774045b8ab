/**
 * Streams the response to a chat request. Until the first usable event another provider can take over: nothing has been
 * sent yet or, if the providers were silent for a while, only the headers and comments. After the headers every failure
 * becomes an event in the stream. The last byte is sent after the charge is committed.
 */
import { ApiError, type ErrorCode, errorTable } from '../errors.ts';
import { type ClientStream, streamResponse } from '../http/client-stream.ts';
import { failedAttempts } from '../inference/attempts.ts';
import { type OpenGeneration, settleAfterDelivery } from '../inference/generation.ts';
import type { ReadOn, ReadOnStreams } from '../inference/read-on-streams.ts';
import type { Exchange, Run, StreamServices } from '../inference/workload.ts';
import type { Ending } from '../ledger/settlement.ts';
import { Deadlines } from '../lib/deadlines.ts';
import type { ChatEvent, ReportedUsage } from '../providers/chat.ts';
import { type ChatEventStream, isPassedOn, streamChat } from '../providers/chat-call.ts';
import { beyondLimit, EndedByGateway, ProviderError, withStatus } from '../providers/upstream.ts';
import { type Candidate, upstreamOf } from '../routing/candidates.ts';
import {
  type ChatBill,
  chargeOf,
  coversAnswer,
  type StreamOutcome,
  streamEnding,
  unchargedUsage,
} from './billing.ts';
import type { ChatDialect, ChatWriter } from './dialect.ts';
import type { ChatRequest } from './request.ts';
import { isUsable, latestUsage, StreamProgress } from './stream-progress.ts';

/** An accepted chat request: what to ask a provider for, how to bill it, and how to write its answer. */
export type ChatJob<Asked> = Readonly<{
  chat: ChatRequest<Asked>;
  bill: ChatBill;
  dialect: ChatDialect<Asked>;
}>;
type ChatRun<Asked> = Run<ChatJob<Asked>>;

/** `first` is what has arrived up to the first event that the client sees. */
export type OpenedStream = Readonly<{
  stream: ChatEventStream;
  first: readonly ChatEvent[];
  isPassedOn: boolean;
}>;

export function chatStream<Asked>(): Exchange<ChatJob<Asked>, OpenedStream> {
  return { open, discard, respond: streamChatResponse };
}

async function streamChatResponse<Asked>(
  run: ChatRun<Asked>,
  opening: Promise<OpenedStream>,
  services: StreamServices,
): Promise<Response> {
  const { claim, client: signal } = run;
  try {
    const opened = await unlessSilent(opening);
    // From here on the stream itself ends the claim.
    claim?.handOver();
    return opened === null
      ? respondEarly(deliveryOf(run), opening, services)
      : respond(deliveryOf(run), opened, services);
  } catch (error) {
    // Some errors have no status: they are sent inside a stream even when it is otherwise empty.
    if (!(error instanceof ApiError) || errorTable[error.code].status !== null) throw error;
    const { openWriter } = deliveryOf(run);
    return streamResponse(new Headers(eventStreamHeaders), signal, async (client) => {
      await client.write(failedStream(openWriter(false), error));
    });
  }
}

function failedStream(writer: ChatWriter, error: ApiError): string {
  return writer.failure(error) + writer.close;
}

/** What is still needed of a run once its stream is open. The conversation is not, and may be many megabytes. */
type Delivery = Omit<Run<unknown>, 'job'> &
  Readonly<{ bill: ChatBill; openWriter: (isPassedOn: boolean) => ChatWriter }>;

function deliveryOf<Asked>({ requestId, job, generation, claim, client }: ChatRun<Asked>): Delivery {
  const { bill, dialect } = job;
  const { model, asked } = job.chat;
  const createdSeconds = Math.floor(generation.facts.createdAtMs / 1000);
  const facts = { requestId, createdSeconds, model, asked };
  const openWriter = (isPassedOn: boolean) => dialect.openWriter(facts, isPassedOn);
  return { requestId, bill, openWriter, generation, claim, client };
}

/** A separate function, because everything in its scope stays in memory for as long as the stream lasts. */
function respond(delivery: Delivery, opened: OpenedStream, services: StreamServices): Response {
  return streamResponse(new Headers(eventStreamHeaders), delivery.client, (client) =>
    deliver(delivery, opened, client, services),
  );
}

/** Sends the headers before any provider has answered, because the client has waited long enough in silence. */
function respondEarly(
  delivery: Delivery,
  opening: Promise<OpenedStream>,
  services: StreamServices,
): Response {
  const produce = async (client: ClientStream) => {
    const opened = await whileWaiting(opening, client).catch(async (error: unknown) => {
      await delivery.claim?.release();
      await client.write(failedStream(delivery.openWriter(false), inBandError(error, delivery, services)));
      return null;
    });
    if (opened !== null) await deliver(delivery, opened, client, services);
  };
  return streamResponse(new Headers(eventStreamHeaders), delivery.client, produce, opening);
}

/**
 * A model may think for minutes before its first word, and proxies and clients give up on a silent connection. So after a
 * few seconds the headers are sent, and then a comment every few seconds. Comments are not part of the response:
 * SSE parsers skip them, and they are not stored for retries.
 */
const maxSilenceMs = 5_000;
const comment = ': keep-alive\n\n';
export const silenceDeadlines = new Deadlines();

/** What `opening` resolves to; null when it takes so long that the client needs a sign of life. */
function unlessSilent(opening: Promise<OpenedStream>): Promise<OpenedStream | null> {
  const { promise, resolve, reject } = Promise.withResolvers<OpenedStream | null>();
  const deadline = silenceDeadlines.start(maxSilenceMs, () => resolve(null));
  opening.then(
    (opened) => {
      deadline.clear();
      resolve(opened);
    },
    (error: unknown) => {
      deadline.clear();
      reject(error as Error);
    },
  );
  return promise;
}

/** Writes comments until `opening` settles or the client has gone, each only once the client has taken the one before. */
async function whileWaiting(opening: Promise<OpenedStream>, client: ClientStream): Promise<OpenedStream> {
  while (!client.isGone) {
    await client.write(comment);
    const opened = await unlessSilent(opening);
    if (opened !== null) return opened;
  }
  return await opening;
}

/** The Generation has been settled with the error's own code, which may be one that no stream can end with. */
function inBandError(error: unknown, { requestId }: Delivery, { log }: StreamServices): ApiError {
  if (!(error instanceof ApiError)) {
    log.error('stream failed', { requestId, error });
    return new ApiError('streaming_error');
  }
  const { inBand, type } = errorTable[error.code];
  if (inBand) return error;
  const code = type === 'internal_error' ? 'streaming_error' : 'provider_stream_error';
  return new ApiError(code, { message: error.message, cause: error });
}

const eventStreamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
};

function discard<Asked>(
  { bill }: ChatJob<Asked>,
  { stream, first }: OpenedStream,
  candidate: Candidate,
  generation: OpenGeneration,
): void {
  noteUnusable(first, bill, candidate, generation);
  stream.close();
}

async function open<Asked>(
  job: ChatJob<Asked>,
  candidate: Candidate,
  generation: OpenGeneration,
): Promise<OpenedStream> {
  const upstream = upstreamOf(
    candidate,
    generation,
    job.bill.bounds.outputTokens,
    job.dialect.showsReasoning,
  );
  const stream = await streamChat(candidate, job.chat, upstream);
  // Usage before the first usable event still counts. Only what it comes to is kept: there may be any amount of it.
  let early: ReportedUsage | null = null;
  const wires: ChatEvent[] = [];
  let wireLength = 0;
  try {
    for (;;) {
      const next = await stream.next();
      const first: ChatEvent[] = early === null ? [...wires] : [...wires, { type: 'usage', usage: early }];
      first.push(...(next ?? []));
      const decisive = next?.find(({ type }) => type !== 'usage' && type !== 'wire');
      if (next === null || decisive?.type === 'end' || decisive?.type === 'failure') {
        noteUnusable(first, job.bill, candidate, generation);
        throw decisive?.type === 'failure'
          ? withStatus(decisive.error, stream.status)
          : new ProviderError('empty_provider_stream', { upstreamStatus: stream.status });
      }
      if (decisive !== undefined) {
        generation.noteFirstToken();
        return { stream, first, isPassedOn: isPassedOn(job.chat, candidate.chat) };
      }
      early = usageIn(next, early);
      for (const event of next) {
        // The same again is a sign of life, and clients get others meanwhile.
        if (event.wire === undefined || event.wire === wires.at(-1)?.wire) continue;
        wires.push({ type: 'wire', wire: event.wire });
        wireLength += event.wire.length;
      }
      if (wires.length > maxEarlyWires || wireLength > maxEarlyLength) {
        noteUnusable(first, job.bill, candidate, generation);
        throw withStatus(beyondLimit(), stream.status);
      }
    }
  } catch (error) {
    stream.close();
    throw error;
  }
}

/**
 * A format has one event or two before the answer begins, which may repeat the request's instructions and tools, and some
 * vendors number their signs of life.
 */
const maxEarlyWires = 1_000;
const maxEarlyLength = 4_000_000;

/** Nothing of this stream can be delivered, but its provider may bill what it reports. */
function noteUnusable(
  events: readonly ChatEvent[],
  bill: ChatBill,
  { cost }: Candidate,
  generation: OpenGeneration,
): void {
  const usage = usageIn(events, null);
  if (usage !== null) generation.noteUsed(unchargedUsage(bill, usage, cost, new Date()));
}

/** What these events, and `known` before them, come to. */
function usageIn(events: readonly ChatEvent[], known: ReportedUsage | null): ReportedUsage | null {
  return events.reduce(
    (latest, event) => (event.type === 'usage' ? latestUsage(latest, event.usage) : latest),
    known,
  );
}

/** How reading from the provider ended. */
type Outcome = StreamOutcome & Readonly<{ isProvoked: boolean }>;

/** Never throws: by now errors can only be sent in the stream. */
async function deliver(
  run: Delivery,
  { stream, first, isPassedOn: isSameFormat }: OpenedStream,
  client: ClientStream,
  services: StreamServices,
): Promise<void> {
  const writer = run.openWriter(isSameFormat);
  const progress = new StreamProgress(writer);
  if (run.claim?.mayBeStored === true) client.record();
  let outcome: Outcome;
  try {
    outcome = await relay(run, stream, first, progress, writer, client, services.readOn);
  } catch (error) {
    services.log.error('stream failed', { requestId: run.requestId, error });
    outcome = { code: 'streaming_error', isProvoked: true, isEndedHere: false, finishedAt: new Date() };
  }
  stream.close();
  const { usage, hasText } = progress;
  const { finishedAt, code } = outcome;
  const { providerPrice } = run.generation;
  const charge = usage === null ? null : chargeOf(run.bill, { usage, finishedAt, hasText }, providerPrice);
  if (charge !== null && coversAnswer(progress, code)) run.generation.noteUsed(charge.reported);
  run.generation.noteFinish(progress.finishReason);
  endAttempt(run, stream.status, outcome);
  const isComplete = code === null && usage !== null && charge !== null;
  const last = isComplete ? writer.complete(charge, usage) : '';
  // A failure of the stream itself was sent when it happened.
  const isSent = outcome.code === progress.failure?.code;
  const unsent =
    outcome.code === null || isSent ? '' : writer.failure(failedAttempts(outcome.code, run.generation));
  const stored = await storedStream(run, client.transcript, code === null ? last : unsent, writer);
  const ending = streamEnding(run.bill, charge, progress, outcome, client.isGone, stored);
  const problem = (await settleAfterDelivery(run.generation, ending)) ?? outcome.code;
  // A response that is stored with the charge, now or once the ledger can be reached, is replayed. Others run again.
  const isStored = ending.stored !== null && problem !== 'billing_consistency_error';
  if (!isStored) await run.claim?.release();
  if (problem !== null && problem !== progress.failure?.code)
    await client.write(problem === outcome.code ? unsent : writer.failure(new ApiError(problem)));
  if (problem === null && last !== '') await client.write(last);
  if (writer.close !== '') await client.write(writer.close);
}

/** Passes on what the provider sends, and reads on for the usage once the client no longer gets anything. */
async function relay(
  run: Delivery,
  stream: ChatEventStream,
  first: readonly ChatEvent[],
  progress: StreamProgress,
  writer: ChatWriter,
  client: ClientStream,
  readOn: ReadOnStreams,
): Promise<Outcome> {
  let reading: ReadOn | null = null;
  let events: readonly ChatEvent[] | null = first;
  const beginning = first.find(isUsable);
  let text = beginning === undefined ? '' : writer.begin(beginning);
  let isFailureSent = false;
  let finishedAtMs = Date.now();
  try {
    while (events !== null) {
      text += progress.take(events);
      let clientWaitMs = 0;
      if (text !== '') {
        const taken = client.write(text);
        if (taken !== undefined) {
          const sinceMs = performance.now();
          await taken;
          clientWaitMs = performance.now() - sinceMs;
        }
        text = '';
      }
      if (progress.failure !== null && !isFailureSent) {
        isFailureSent = true;
        await client.write(writer.failure(failedAttempts(progress.failure.code, run.generation)));
      }
      if (progress.isEnded) break;
      if (client.isGone || progress.failure !== null) {
        // What is stored for a retry counts as delivered.
        progress.isDelivering = run.claim?.mayBeStored === true;
        reading ??= readOn.begin(run.generation.facts.accountId, () => stream.close());
      }
      events = await stream.next();
      // What arrived while we waited for the client was ready earlier.
      finishedAtMs = Date.now() - clientWaitMs;
    }
    if (events === null) progress.noteClosed();
    return outcomeOf(progress.missing(), progress.failure?.isProvoked === true, false, finishedAtMs);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    // A finished answer with its usage is complete, even if the connection broke before the end marker.
    if (progress.missing() === null) return outcomeOf(null, false, false, finishedAtMs);
    // A failure that has been sent to the client does not change any more.
    const { failure } = progress;
    if (reading?.isOver()) return outcomeOf(failure?.code ?? 'streaming_error', true, true, finishedAtMs);
    const isProvoked = (failure ?? error).isProvoked;
    return outcomeOf(failure?.code ?? error.code, isProvoked, error instanceof EndedByGateway, finishedAtMs);
  } finally {
    reading?.end();
  }
}

function outcomeOf(
  code: ErrorCode | null,
  isProvoked: boolean,
  isEndedHere: boolean,
  finishedAtMs: number,
): Outcome {
  return { code, isProvoked, isEndedHere, finishedAt: new Date(finishedAtMs) };
}

/** The whole stream for retries: as it ends once `last` is written, and as it ends if the balance does not cover it. */
async function storedStream(
  { claim }: Delivery,
  transcript: string | null,
  last: string,
  writer: ChatWriter,
): Promise<Ending['stored']> {
  if (claim === null) return null;
  if (transcript === null) return await claim.toStore(null, eventStreamHeaders, null);
  const unpaid = transcript + failedStream(writer, new ApiError('insufficient_balance'));
  return await claim.toStore(transcript + last + writer.close, eventStreamHeaders, unpaid);
}

/** These are not failures of the provider. */
const notTheProviders: ReadonlySet<ErrorCode> = new Set(['usage_missing', 'streaming_error']);

function endAttempt(
  { generation }: Delivery,
  status: number,
  { code, isProvoked, isEndedHere }: Outcome,
): void {
  if (code === null || (code === 'usage_missing' && !isEndedHere)) generation.attemptSucceeded(status);
  else if (notTheProviders.has(code)) generation.attemptCancelled(status, code);
  else generation.attemptFailed(new ProviderError(code, { upstreamStatus: status, isProvoked }));
}
