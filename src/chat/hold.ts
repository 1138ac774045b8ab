/**
 * How much is held for a chat request, and how long its answer may get for that amount. The provider gets the same limit,
 * so that the charge exceeds the hold by no more than a small tolerance.
 */

import type { DenialCode, TokenRange } from '../ledger/operations.ts';
import { plainMeters } from '../lib/meters.ts';
import { formatDollars, type Money } from '../lib/money.ts';
import type { Model } from '../models/model.ts';
import { type CacheWrites, costAtRates, highestTokenRates, tokensWithin } from '../pricing/cost.ts';
import type { TokenPrice, TokenRates } from '../pricing/price.ts';
import { inputBound } from './bounds.ts';
import type { InputBound } from './input-tally.ts';
import type { ChatRequest } from './request.ts';

/** The shortest output limit worth starting with; a request is denied when even that costs too much. */
const minOutputTokens = 1_024;
/** For a model whose maximum is not published: every known one can write this much, and some reject a higher limit. */
const unpublishedOutputTokens = 4_096;

/** What a request can cost: its input, and between min and max output tokens. Both are the length that it asks for, if any. */
export type ChatTerms = Readonly<{
  input: InputBound;
  writes: CacheWrites;
  /** The highest rates that can apply. */
  rates: TokenRates;
  minOutputTokens: number;
  maxOutputTokens: number;
}>;

export function chatTerms(
  { call, outputLimit, furtherInput }: Pick<ChatRequest<unknown>, 'call' | 'outputLimit' | 'furtherInput'>,
  model: Model,
  price: TokenPrice,
  writes: CacheWrites,
): ChatTerms {
  const input = inputBound(call, model, furtherInput);
  const rates = highestTokenRates(price, input.tokens, writes);
  if (call.maxTokens !== null)
    return { input, writes, rates, minOutputTokens: call.maxTokens, maxOutputTokens: call.maxTokens };
  const { contextWindow, maxOutputTokens } = model;
  const max = Math.min(maxOutputTokens ?? unpublishedOutputTokens, outputLimit ?? Number.POSITIVE_INFINITY);
  const min = Math.min(minOutputTokens, max);
  // Many servers reject a limit that does not fit into the context window next to the input.
  const room = contextWindow === null ? max : contextWindow - input.likelyTokens;
  return { input, writes, rates, minOutputTokens: min, maxOutputTokens: Math.max(min, Math.min(max, room)) };
}

export function holdRange(terms: ChatTerms): Readonly<{ min: Money; max: Money }> {
  return { min: costOf(terms, terms.minOutputTokens), max: costOf(terms, terms.maxOutputTokens) };
}

/** What is counted towards limits of tokens. */
export function tokenRange({ input, minOutputTokens: min, maxOutputTokens: max }: ChatTerms): TokenRange {
  return { min: input.tokens + min, max: input.tokens + max };
}

/** How long the answer may get for what was held. `tokens` includes the input; null if it is not limited. */
export function outputBound(terms: ChatTerms, held: Money, tokens: number | null = null): number {
  const affordable = affordableOutput(terms, held);
  const allowed = tokens === null ? affordable : Math.min(affordable, tokens - terms.input.tokens);
  return Math.max(terms.minOutputTokens, allowed);
}

/** What a client with only this much available can do. */
export function adviceFor(terms: ChatTerms, available: Money): string | null {
  const tokens = affordableOutput(terms, available);
  if (tokens > 0) return `Set max_tokens to ${tokens.toLocaleString('en')} or less.`;
  const least = costOf(terms, 1);
  return least < costOf(terms, terms.minOutputTokens)
    ? `A lower max_tokens needs less, but at least ${formatDollars(least, 'up')}.`
    : null;
}

/** The same as a number; null when nothing fits. */
export function fittingTokens(terms: ChatTerms, available: Money): number | null {
  return affordableOutput(terms, available) || null;
}

/** What a person can do, who may not be able to change the request. */
export function remedyFor(code: DenialCode): string {
  if (code === 'monthly_spend_limit_exceeded') return 'Raise that limit, or use another key.';
  return code === 'spend_limit_exceeded' ? 'Raise that limit.' : 'Add credit to the account.';
}

/** At most `maxOutputTokens`; 0 when not even the input is covered. */
function affordableOutput(terms: ChatTerms, amount: Money): number {
  return tokensWithin(amount - costOf(terms, 0), terms.rates.output, terms.maxOutputTokens);
}

function costOf({ input, rates }: ChatTerms, outputTokens: number): Money {
  return costAtRates(rates, plainMeters(input.tokens, outputTokens)).total;
}
