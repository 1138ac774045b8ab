/**
 * Answers a chat request as a stream. Until the first usable event nothing has been sent, so another provider can take
 * over; from then on whatever happens ends as an event in the stream. The last byte follows the committed charge.
 */
import { ApiError, type ErrorCode, errorTable } from '../errors.ts';
import { type ClientStream, streamResponse } from '../http/client-stream.ts';
import type { Abandoned, AbandonedStreams } from '../inference/abandoned-streams.ts';
import { type Ending, failure } from '../inference/generation.ts';
import { attemptInTurn, type NoteAttempts, settleAfterDelivery } from '../inference/run.ts';
import type { Log } from '../lib/log.ts';
import type { ChatEvent } from '../providers/chat.ts';
import { type ChatEventStream, streamChat } from '../providers/chat-call.ts';
import { ProviderError } from '../providers/upstream.ts';
import { type Candidate, upstreamOf } from '../routing/candidates.ts';
import { billed, type ChatRun } from './chat-run.ts';
import { ChunkWriter, endOfStream, errorEvent } from './present.ts';
import { isUsable, StreamProgress } from './stream-progress.ts';

export type StreamServices = Readonly<{ abandoned: AbandonedStreams; log: Log; noteAttempts: NoteAttempts }>;

type OpenedStream = Readonly<{ stream: ChatEventStream; first: readonly ChatEvent[] }>;

export async function answerAsStream(run: ChatRun, services: StreamServices): Promise<Response> {
  const { generation, turns, claim, client: signal } = run;
  try {
    const opened = await attemptInTurn(generation, turns, signal, services.noteAttempts, (candidate) =>
      open(run, candidate),
    );
    generation.noteFirstToken();
    // From here on the stream itself says what becomes of the claim.
    claim?.handOver();
    return streamResponse(new Headers(eventStreamHeaders), signal, (client) =>
      deliver(run, opened, client, services),
    );
  } catch (error) {
    // Some failures have no status of their own: they are told inside a stream even when it is otherwise empty.
    if (!(error instanceof ApiError) || errorTable[error.code].status !== null) throw error;
    return streamResponse(new Headers(eventStreamHeaders), signal, async (client) => {
      await client.write(errorEvent(error) + endOfStream);
    });
  }
}

const eventStreamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
};

async function open(run: ChatRun, candidate: Candidate): Promise<OpenedStream> {
  const stream = await streamChat(
    candidate.connection,
    run.chat.call,
    upstreamOf(candidate, run.requestId, run.maxOutputTokens),
  );
  // What comes before anything usable, such as an early usage, still counts.
  const first: ChatEvent[] = [];
  try {
    for (;;) {
      const next = await stream.next();
      first.push(...(next ?? []));
      if (next?.some(isUsable)) return { stream, first };
      if (next === null || next.some(({ type }) => type === 'end')) {
        throw new ProviderError('empty_provider_stream', stream.status);
      }
    }
  } catch (error) {
    stream.close();
    throw error;
  }
}

/** How reading from the provider ended. */
type Outcome = Readonly<{ failure: ErrorCode | null; wasCut: boolean; isProvoked?: boolean }>;

/** Never throws: by now the client can only be told in the stream. */
async function deliver(
  run: ChatRun,
  { stream, first }: OpenedStream,
  client: ClientStream,
  services: StreamServices,
): Promise<void> {
  const chunks = new ChunkWriter(
    run.requestId,
    Math.floor(run.generation.facts.createdAtMs / 1000),
    run.chat.model,
  );
  const progress = new StreamProgress(chunks);
  if (run.claim !== null) client.record();
  let outcome: Outcome;
  try {
    outcome = await relay(stream, first, progress, chunks, client, services);
  } catch (error) {
    services.log.error('stream failed', { requestId: run.requestId, error });
    outcome = { failure: 'streaming_error', wasCut: true };
  }
  stream.close();
  endAttempt(run, stream.status, outcome);
  const last = run.chat.includeUsage && progress.usage !== null ? chunks.usage(progress.usage) : '';
  const kept = await keptStream(run, client.transcript, outcome.failure === null ? last : '');
  const ending = endingOf(run, progress, outcome.failure, client.isGone, kept);
  const problem = (await settleAfterDelivery(run.generation, ending)) ?? outcome.failure;
  // What the ledger keeps with the charge, now or once it can be reached, is answered again. The rest runs anew.
  const isKept = ending.kept !== null && problem !== 'billing_consistency_error';
  if (!isKept) await run.claim?.release();
  // A failure of the stream itself was told when it happened.
  if (problem !== null && problem !== progress.failure) await client.write(errorEvent(new ApiError(problem)));
  if (problem === null && last !== '') await client.write(last);
  await client.write(endOfStream);
}

/** Passes on what the provider sends, and reads on for the usage when nobody gets it any more. */
async function relay(
  stream: ChatEventStream,
  first: readonly ChatEvent[],
  progress: StreamProgress,
  chunks: ChunkWriter,
  client: ClientStream,
  { abandoned }: StreamServices,
): Promise<Outcome> {
  let reading: Abandoned | null = null;
  let events: readonly ChatEvent[] | null = first;
  let text = chunks.role(first.find(isUsable)?.type !== 'tool_call');
  let isToldOfFailure = false;
  try {
    while (events !== null) {
      text += progress.take(events);
      if (text !== '') {
        const taken = client.write(text);
        if (taken !== undefined) await taken;
        text = '';
      }
      if (progress.failure !== null && !isToldOfFailure) {
        isToldOfFailure = true;
        await client.write(errorEvent(new ApiError(progress.failure)));
      }
      if (progress.isEnded) break;
      if (client.isGone || progress.failure !== null) {
        reading ??= abandoned.begin(stream.close);
        if (reading === null) return { failure: progress.failure, wasCut: true };
      }
      events = await stream.next();
    }
    return { failure: progress.missing(), wasCut: false };
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    if (reading?.isOver()) return { failure: progress.failure, wasCut: true };
    // A finished answer with its usage is whole, even if the connection broke before the last marker. A failure that the
    // client has been told of stays what it was.
    const failure = progress.missing() === null ? null : (progress.failure ?? error.code);
    return { failure, wasCut: false, isProvoked: error.isProvoked };
  } finally {
    reading?.end();
  }
}

/** The whole of the stream for retries, as it ends with what is left to be written and, should it not be paid for, with that. */
async function keptStream(
  { claim }: ChatRun,
  transcript: string | null,
  last: string,
): Promise<Ending['kept']> {
  if (claim === null) return null;
  if (transcript === null) return await claim.kept(null, eventStreamHeaders, null);
  const unpaid = transcript + errorEvent(new ApiError('insufficient_balance')) + endOfStream;
  return await claim.kept(transcript + last + endOfStream, eventStreamHeaders, unpaid);
}

function endAttempt(
  { generation }: ChatRun,
  status: number,
  { failure: problem, wasCut, isProvoked = false }: Outcome,
): void {
  const isProviderFault = problem !== null && problem !== 'usage_missing' && problem !== 'streaming_error';
  if (isProviderFault) generation.attemptFailed(new ProviderError(problem, status, null, isProvoked));
  else if (wasCut) generation.attemptCancelled(status);
  else generation.attemptSucceeded(status);
}

function endingOf(
  run: ChatRun,
  { usage, isFinished }: StreamProgress,
  problem: ErrorCode | null,
  isGone: boolean,
  kept: Ending['kept'],
): Ending {
  // What was delivered before a provider began to repeat itself was used, and is paid for like the rest.
  const isUsed = problem === null || problem === 'repeated_streaming_chunk_limit';
  const isBillable = usage !== null && isFinished && isUsed;
  if (isGone) {
    if (isBillable) return billed(run, usage, 'cancelled', 'write_off', kept);
    return { ...failure('provider_stream_error', 'usage_missing'), status: 'cancelled', errorCode: null };
  }
  if (isBillable) {
    const ending = billed(run, usage, 'completed', 'write_off', kept);
    return problem === null ? ending : { ...ending, status: 'failed', errorCode: problem };
  }
  return failure(problem ?? 'usage_missing', 'usage_missing');
}
