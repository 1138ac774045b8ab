/**
 * What is held for a chat request, and how long its answer may get for that. The provider is told the same limit, so that
 * what is charged exceeds what is held by no more than a small tolerance.
 */
import type { Money } from '../lib/money.ts';
import type { Model } from '../models/model.ts';
import { costAtRates, highestTokenRates, tokensWithin } from '../pricing/cost.ts';
import type { TokenPrice, TokenRates } from '../pricing/price.ts';
import type { ChatCall } from '../providers/chat.ts';
import { type InputBound, inputBound } from './bounds.ts';

/** An answer that may get no longer than this is worth beginning; a request is refused when even that is too dear. */
const minOutputTokens = 1_024;
/** For a model whose maximum is not published: every known one can write as much, and some refuse to be asked for more. */
const unpublishedOutputTokens = 4_096;

/** What a request can cost: its input, and its output between a least and a most. Both are `max_tokens` where it is given. */
export type ChatTerms = Readonly<{
  input: InputBound;
  /** The dearest that the input can meet. */
  rates: TokenRates;
  minOutputTokens: number;
  maxOutputTokens: number;
}>;

export function chatTerms(call: ChatCall, model: Model, price: TokenPrice): ChatTerms {
  const input = inputBound(call, model);
  const rates = highestTokenRates(price, input.tokens);
  if (call.maxTokens !== null)
    return { input, rates, minOutputTokens: call.maxTokens, maxOutputTokens: call.maxTokens };
  const { contextWindow, maxOutputTokens } = model;
  const longest = maxOutputTokens ?? unpublishedOutputTokens;
  const least = Math.min(minOutputTokens, longest);
  // Many servers refuse a limit that does not fit into the context window beside the input.
  const room = contextWindow === null ? longest : contextWindow - input.likelyTokens;
  return {
    input,
    rates,
    minOutputTokens: least,
    maxOutputTokens: Math.max(least, Math.min(longest, room)),
  };
}

/** The least and the most to be held. */
export function holdRange(terms: ChatTerms): Readonly<{ min: Money; max: Money }> {
  return {
    min: costOf(terms, terms.minOutputTokens),
    max: costOf(terms, terms.maxOutputTokens),
  };
}

/** How long the answer may get for what was held. */
export function outputBound(terms: ChatTerms, held: Money): number {
  return Math.max(terms.minOutputTokens, affordableOutput(terms, held));
}

/** What a client that has no more than this can do. */
export function adviceFor(terms: ChatTerms, available: Money): string | null {
  const tokens = affordableOutput(terms, available);
  return tokens < 1 ? null : `With max_tokens ${tokens.toLocaleString('en')} or less it fits.`;
}

/** At most `maxOutputTokens`; 0 when not even the input is covered. */
function affordableOutput(terms: ChatTerms, amount: Money): number {
  return tokensWithin(amount - costOf(terms, 0), terms.rates.output, terms.maxOutputTokens);
}

function costOf({ input, rates }: ChatTerms, outputTokens: number): Money {
  return costAtRates(rates, { inputTokens: input.tokens, outputTokens }).total;
}
