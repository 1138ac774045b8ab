/** Chat as a workload of inference/request.ts, in any dialect. How it streams is in stream.ts. */
import { ApiError } from '../errors.ts';
import { checkDirectives, expectsTools, lastUserText } from '../inference/sandbox-directives.ts';
import type { Plan, Workload } from '../inference/workload.ts';
import { accessTo, resolveModel } from '../models/access.ts';
import type { TokenPrice } from '../pricing/price.ts';
import { type ChatAnswer, hasText } from '../providers/chat.ts';
import { completeChat } from '../providers/chat-call.ts';
import { beginningOf, wantsCache } from '../providers/prompt-cache.ts';
import type { ActiveCatalog } from '../routing/active-catalog.ts';
import { upstreamOf } from '../routing/candidates.ts';
import { chargeOf, unchargedUsage } from './billing.ts';
import { cacheWrites } from './cache-writes.ts';
import { ableToServe, checkCapabilities } from './capabilities.ts';
import type { ChatDialect } from './dialect.ts';
import {
  adviceFor,
  type ChatTerms,
  chatTerms,
  fittingTokens,
  holdRange,
  outputBound,
  remedyFor,
  tokenRange,
} from './hold.ts';
import { inOwnNames, type OwnNames, withOwnNames } from './own-names.ts';
import type { ChatRequest } from './request.ts';
import { type ChatJob, chatStream, type OpenedStream } from './stream.ts';

type ChatPlan<Asked> = Plan & Readonly<{ chat: ChatRequest<Asked>; price: TokenPrice; terms: ChatTerms }>;

export function chatWorkload<Asked>(
  dialect: ChatDialect<Asked>,
): Workload<ChatRequest<Asked>, ChatPlan<Asked>, ChatJob<Asked>, ChatAnswer, OpenedStream> {
  const { names = noNames } = dialect;
  return {
    name: 'chat',
    api: dialect.api,
    route: dialect.route,
    queryParameters: dialect.queryParameters ?? [],
    keepsNumbers: dialect.keepsNumbers ?? false,
    parse: dialect.parse,
    isStreamed: ({ stream }) => stream,
    attributionOf: ({ attribution }) => attribution ?? null,
    plan: (chat, active, allowedModels) => withOwnNames(names, () => planChat(chat, active, allowedModels)),
    advice: ({ terms }, available, code) => {
      const advice = inOwnNames(adviceFor(terms, available) ?? '', names);
      const remedy = dialect.servesAgents ? remedyFor(code) : '';
      return `${remedy} ${advice}`.trim() || null;
    },
    fittingTokens: ({ terms }, available) => fittingTokens(terms, available),
    accept: ({ chat, price, terms }, held, tokens) => ({
      chat,
      bill: {
        price,
        bounds: { inputTokens: terms.input.tokens, outputTokens: outputBound(terms, held, tokens) },
        writes: terms.writes,
        held,
        leastInputTokens: terms.input.leastTokens,
      },
      dialect,
    }),
    call: ({ chat, bill }, candidate, generation) =>
      completeChat(
        candidate,
        chat,
        upstreamOf(candidate, generation, bill.bounds.outputTokens, dialect.showsReasoning),
        (usage) => generation.noteUsed(unchargedUsage(bill, usage, candidate.cost, new Date())),
      ),
    bill: ({ bill }, { usage, items }, finishedAt, providerPrice) =>
      usage === null ? null : chargeOf(bill, { usage, finishedAt, hasText: hasText(items) }, providerPrice),
    finishReasonOf: ({ finishReason }) => finishReason,
    present: ({ chat: { model, asked } }, answer, charge, requestId, createdSeconds) =>
      dialect.present({ requestId, createdSeconds, model, asked }, answer, charge),
    stream: chatStream(),
  };
}

const noNames: OwnNames = new Map();

function planChat<Asked>(
  chat: ChatRequest<Asked>,
  active: ActiveCatalog,
  allowedModels: ReadonlySet<string> | null,
): ChatPlan<Asked> {
  const { call } = chat;
  const access = accessTo(active.connections, allowedModels);
  const model = resolveModel(active.catalog, chat.model, 'chat', access, active.keyProblems);
  checkCapabilities(chat, model);
  const { price } = model;
  if (price.billingType !== 'token') throw new ApiError('model_pricing_not_configured', { param: 'model' });
  const candidates = ableToServe(active.candidates.get(model.id) ?? [], chat);
  checkDirectives(candidates, () => lastUserText(call), 'messages', expectsTools(call));
  const terms = chatTerms(chat, model, price, cacheWrites(call, candidates, chat.original));
  const conversation = wantsCache(call) ? () => beginningOf(call) : null;
  return {
    model: model.id,
    candidates,
    hold: holdRange(terms),
    tokens: tokenRange(terms),
    conversation,
    chat,
    price,
    terms,
  };
}
