/** Answers a chat request as a whole: one JSON body, sent only when its charge is committed. */
import { ApiError } from '../errors.ts';
import { deliverWhole } from '../inference/deliver.ts';
import { failure } from '../inference/generation.ts';
import { attemptInTurn, type NoteAttempts } from '../inference/run.ts';
import { completeChat } from '../providers/chat-call.ts';
import { upstreamOf } from '../routing/candidates.ts';
import { believed, billed } from './billing.ts';
import type { ChatRun } from './chat-run.ts';
import { presentCompletion } from './present.ts';

export async function answerWhole(run: ChatRun, noteAttempts: NoteAttempts): Promise<Response> {
  const { generation, chat, requestId, turns, client } = run;
  const { status, answer } = await attemptInTurn(generation, turns, client, noteAttempts, (candidate) =>
    completeChat(
      candidate.connection,
      chat.call,
      upstreamOf(candidate, requestId, run.bill.bounds.outputTokens),
    ),
  );
  const finishedAt = new Date();
  generation.attemptSucceeded(status);
  const { usage, content, toolCalls } = answer;
  if (usage === null) {
    await generation.settle(failure('billing_consistency_error', 'usage_missing'));
    throw new ApiError('billing_consistency_error');
  }
  const createdSeconds = Math.floor(generation.facts.createdAtMs / 1000);
  const told = believed(usage, run.bill.bounds);
  const completion = presentCompletion(requestId, createdSeconds, chat.model, answer, told);
  const whole = { usage, finishedAt, hasText: (content ?? '') !== '' || toolCalls.length > 0 };
  return await deliverWhole(run, completion, (status, kept) =>
    billed(run.bill, whole, status, 'withhold', kept),
  );
}
