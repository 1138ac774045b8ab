/** Answers a chat request as a whole: one JSON body, sent only when its charge is committed. */
import { ApiError } from '../errors.ts';
import { failure } from '../inference/generation.ts';
import { attemptInTurn, type NoteAttempts, orSettle, settleBeforeDelivery } from '../inference/run.ts';
import type { ChatAdapter, ChatAnswer } from '../providers/chat.ts';
import { chatAdapter, completeChat } from '../providers/chat-call.ts';
import type { Candidate } from '../routing/candidates.ts';
import { billed, type ChatRun, upstreamOf } from './chat-run.ts';
import { presentCompletion } from './present.ts';

export async function answerWhole(
  run: ChatRun,
  candidates: readonly Candidate[],
  noteAttempts: NoteAttempts,
): Promise<Response> {
  const { generation, chat, requestId } = run;
  const { status, answer } = await attemptInTurn(generation, candidates, noteAttempts, (candidate) =>
    completeChat(
      adapterOf(candidate),
      chat.call,
      upstreamOf(candidate, run),
      candidate.connection.provider.timeouts,
    ),
  );
  return await orSettle(generation, async () => {
    generation.endAttempt('succeeded', status, null);
    await settleAnswer(run, answer);
    if (answer.usage === null) throw new ApiError('billing_consistency_error');
    const createdSeconds = Math.floor(generation.facts.createdAtMs / 1000);
    return Response.json(presentCompletion(requestId, createdSeconds, chat.model, answer, answer.usage));
  });
}

/** A client that left before its answer still caused the usage; its Generation is closed as cancelled. */
async function settleAnswer(run: ChatRun, { usage }: ChatAnswer): Promise<void> {
  if (usage === null) {
    await run.generation.settle(failure('billing_consistency_error', 'usage_missing'));
    return;
  }
  await settleBeforeDelivery(
    run.generation,
    billed(run, usage, run.client.aborted ? 'cancelled' : 'completed', 'withhold'),
  );
}

export function adapterOf({ connection }: Candidate): ChatAdapter {
  const adapter = chatAdapter(connection.provider.adapter);
  if (adapter === null) throw new ApiError('configuration_error', { param: 'model' });
  return adapter;
}
