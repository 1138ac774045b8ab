/** Has images made and answers with their addresses, once their charge is committed. */
import type { Claim } from '../idempotency/claim.ts';
import { deliverWhole } from '../inference/deliver.ts';
import type { Ending, OpenGeneration } from '../inference/generation.ts';
import { attemptInTurn, type NoteAttempts } from '../inference/run.ts';
import { costOfImages } from '../pricing/cost.ts';
import type { ImagePrice } from '../pricing/price.ts';
import { makeImages } from '../providers/image-call.ts';
import { ProviderError } from '../providers/upstream.ts';
import { type Candidate, type Turns, upstreamOf } from '../routing/candidates.ts';
import { imageFailure } from './failure.ts';
import { type ImageOrder, isMaker } from './order.ts';
import { presentImages } from './present.ts';

/** An admitted request for images on its way to an answer. */
export type ImageRun = Readonly<{
  requestId: string;
  order: ImageOrder;
  price: ImagePrice;
  generation: OpenGeneration;
  turns: Turns;
  /** The right to answer for good, when the request has a name. */
  claim: Claim | null;
  /** Aborted when the client has gone. */
  client: AbortSignal;
}>;

export async function answerImages(run: ImageRun, noteAttempts: NoteAttempts): Promise<Response> {
  const { generation, order, turns, client } = run;
  const { status, answer } = await attemptInTurn(generation, turns, client, noteAttempts, (candidate) =>
    make(run, candidate),
  );
  generation.attemptSucceeded(status);
  // What was not asked for was not held for: it is neither passed on nor charged.
  const urls = answer.urls.slice(0, order.call.count);
  const images = presentImages(Math.floor(generation.facts.createdAtMs / 1000), urls);
  return await deliverWhole(run, images, (status, kept) => billed(run, urls.length, status, kept));
}

async function make({ order, requestId }: ImageRun, candidate: Candidate) {
  if (!isMaker(candidate)) throw new Error('Somebody was asked for images who cannot make any.');
  const { images, link } = candidate.connection;
  try {
    return await makeImages(images, link, order.call, upstreamOf(candidate, requestId, null));
  } catch (error) {
    throw error instanceof ProviderError ? imageFailure(error) : error;
  }
}

/** Charged for the images that came. An image is output: the prompt costs nothing by itself. */
function billed(
  { order: { tier }, price }: ImageRun,
  count: number,
  status: 'completed' | 'cancelled',
  kept: Ending['kept'],
): Ending {
  const total = costOfImages(price, count, tier);
  return {
    status,
    errorCode: null,
    usage: { inputTokens: 0, outputTokens: 0, units: count, unit: 'images', tier },
    cost: { input: 0n, output: total, total },
    isEstimated: false,
    whenShort: 'withhold',
    whenCharged: 'stands',
    loss: null,
    kept,
  };
}
