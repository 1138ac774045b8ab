/** POST /v1/chat/completions as a workload of inference/request.ts. How it streams is in stream.ts. */
import { ApiError } from '../errors.ts';
import { checkDirectives, expectsTools, lastUserText } from '../inference/sandbox-directives.ts';
import type { Plan, Workload } from '../inference/workload.ts';
import { resolveModel } from '../models/access.ts';
import type { Provider } from '../models/model.ts';
import type { TokenPrice } from '../pricing/price.ts';
import type { ChatAnswer } from '../providers/chat.ts';
import { completeChat } from '../providers/chat-call.ts';
import { beginningOf, wantsCache } from '../providers/prompt-cache.ts';
import { upstreamOf } from '../routing/candidates.ts';
import { chargeOf, unchargedUsage } from './billing.ts';
import { cacheWrites } from './cache-writes.ts';
import { ableToServe, checkCapabilities } from './capabilities.ts';
import { adviceFor, type ChatTerms, chatTerms, holdRange, outputBound } from './hold.ts';
import { type ChatRequest, parseChat } from './parse.ts';
import { presentCompletion } from './present.ts';
import { type ChatJob, streamChatResponse } from './stream.ts';

type ChatPlan = Plan & Readonly<{ chat: ChatRequest; price: TokenPrice; terms: ChatTerms }>;

export const chatWorkload: Workload<ChatRequest, ChatPlan, ChatJob, ChatAnswer> = {
  name: 'chat',
  route: 'chat',
  parse: parseChat,
  isStreamed: ({ stream }) => stream,
  plan: (chat, active, allowedModels) => {
    const isProviderConfigured = ({ id }: Provider) => active.connections.has(id);
    const access = { allowedModels, isProviderConfigured };
    const model = resolveModel(active.catalog, chat.model, 'chat', access, active.keyProblems);
    checkCapabilities(chat, model);
    const { price } = model;
    if (price.billingType !== 'token') throw new ApiError('model_pricing_not_configured', { param: 'model' });
    const candidates = ableToServe(active.candidates.get(model.id) ?? [], chat.call);
    checkDirectives(candidates, () => lastUserText(chat.call), 'messages', expectsTools(chat.call));
    const terms = chatTerms(chat.call, model, price, cacheWrites(chat.call, candidates));
    const conversation = wantsCache(chat.call) ? () => beginningOf(chat.call) : null;
    return { model: model.id, candidates, hold: holdRange(terms), conversation, chat, price, terms };
  },
  advice: ({ terms }, available) => adviceFor(terms, available),
  accept: ({ chat, price, terms }, held) => ({
    chat,
    bill: {
      price,
      bounds: { inputTokens: terms.input.tokens, outputTokens: outputBound(terms, held) },
      writes: terms.writes,
      held,
      leastInputTokens: terms.input.leastTokens,
    },
  }),
  call: ({ chat, bill }, candidate, generation) =>
    completeChat(
      candidate.connection,
      chat.call,
      upstreamOf(candidate, generation, bill.bounds.outputTokens),
      (usage) => generation.noteUsed(unchargedUsage(bill, usage, candidate.cost, new Date())),
    ),
  bill: ({ bill }, { usage, content, toolCalls }, finishedAt, providerPrice) => {
    const hasText = (content ?? '') !== '' || toolCalls.length > 0;
    return usage === null ? null : chargeOf(bill, { usage, finishedAt, hasText }, providerPrice);
  },
  present: ({ chat }, answer, { usage }, requestId, createdSeconds) =>
    presentCompletion(requestId, createdSeconds, chat.model, answer, usage),
  stream: streamChatResponse,
};
