/** Answers a chat request as a whole: one JSON body, sent only when its charge is committed. */
import { ApiError } from '../errors.ts';
import { failure } from '../inference/generation.ts';
import { attemptInTurn, type NoteAttempts, settleBeforeDelivery } from '../inference/run.ts';
import { completeChat } from '../providers/chat-call.ts';
import { billed, type ChatRun, upstreamOf } from './chat-run.ts';
import { presentCompletion } from './present.ts';

export async function answerWhole(run: ChatRun, noteAttempts: NoteAttempts): Promise<Response> {
  const { generation, chat, requestId, turns, client } = run;
  const { status, answer } = await attemptInTurn(generation, turns, client, noteAttempts, (candidate) =>
    completeChat(candidate.connection, chat.call, upstreamOf(candidate, run)),
  );
  generation.attemptSucceeded(status);
  const { usage } = answer;
  if (usage === null) {
    await generation.settle(failure('billing_consistency_error', 'usage_missing'));
    throw new ApiError('billing_consistency_error');
  }
  // A client that left before its answer still caused the usage; its Generation is closed as cancelled.
  await settleBeforeDelivery(
    generation,
    billed(run, usage, client.aborted ? 'cancelled' : 'completed', 'withhold'),
  );
  const createdSeconds = Math.floor(generation.facts.createdAtMs / 1000);
  return Response.json(presentCompletion(requestId, createdSeconds, chat.model, answer, usage));
}
