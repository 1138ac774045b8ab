/**
 * Requests of a client that speaks Anthropic's Messages format, passed on to a provider that does too, and its answers
 * passed back. Changed are the model, the limit on output, who it is for, and whatever must not leave the gateway.
 */
import type { ChatAdapter, ChatEvent, Echo, JsonObject, Original, PassOn } from './chat.ts';
import { identityFields } from './end-user.ts';
import { toWireId } from './messages-tool-ids.ts';
import { readMessagesError } from './operator-faults.ts';
import { privateFieldPattern, publicFields } from './private-fields.ts';
import { requestHeaders, type Upstream, type UpstreamRequest } from './upstream.ts';
import { type Fields, isCount, isObject, objectAt, parseObject } from './wire.ts';

/** How the adapter itself understands answers; they mean the same here. */
type Reading = Pick<ChatAdapter, 'readAnswer' | 'openReader'>;

export function passOnMessages({ readAnswer, openReader }: Reading): PassOn {
  return {
    request: passedRequest,
    readAnswer: (body, echo, upstream) => ({
      ...readAnswer(body, upstream),
      wire: passedAnswer(body as Fields, echo, upstream),
    }),
    openReader: (echo, upstream) =>
      Object.assign(passedReader(openReader(upstream), echo, upstream), { readCommon: readDeltas }),
    countRequest,
  };
}

/** Of both versions in use this one takes more, and it is the one that other vendors of the format know. */
const version = '2023-06-01';

/** The headers of every request in this format. */
export function messagesHeaders(upstream: Upstream, original: Original | null): Record<string, string> {
  return requestHeaders(upstream, {
    'anthropic-version': version,
    ...original?.headers,
    ...(upstream.apiKey === null ? {} : { 'x-api-key': upstream.apiKey }),
  });
}

function passedRequest(original: Original, upstream: Upstream, stream: boolean): UpstreamRequest {
  const { maxOutputTokens } = upstream;
  const body = {
    ...passedBody(original, upstream),
    ...(maxOutputTokens !== null && { max_tokens: maxOutputTokens }),
    stream,
    ...identityFields(upstream.endUser),
  };
  return {
    url: `${upstream.baseUrl}/messages`,
    headers: messagesHeaders(upstream, original),
    body: JSON.stringify(withinLimit(body, original.body.max_tokens)),
    readError: readMessagesError,
  };
}

/** Counting takes the same body, without what is about the answer. */
function countRequest(original: Original, upstream: Upstream): UpstreamRequest {
  const { max_tokens: _, stream: __, ...body } = passedBody(original, upstream);
  return {
    url: `${upstream.baseUrl}/messages/count_tokens`,
    headers: messagesHeaders(upstream, original),
    body: JSON.stringify(body),
  };
}

/** The client's own name for its user does not leave the gateway. */
function passedBody(original: Original, upstream: Upstream): Fields {
  const { metadata: _, system, ...rest } = original.body;
  const { messages, isIncomplete } = passedMessages(original, upstream);
  return {
    ...rest,
    model: upstream.model,
    ...passedSystem(system),
    messages,
    // With a budget, an answer that is continued has to begin with its thinking.
    ...(isIncomplete && objectAt(rest, 'thinking')?.type === 'enabled' && { thinking: { type: 'disabled' } }),
  };
}

/** Providers reject instructions that are empty. */
function passedSystem(system: unknown): Fields {
  const kept = Array.isArray(system) ? system.filter((block) => !isBillingLine(block)) : (system ?? '');
  return kept === '' || (Array.isArray(kept) && kept.length === 0) ? {} : { system: kept };
}

/** Claude Code begins its instructions with such a line. It differs from request to request, so no cache would match. */
export function isBillingLine(block: unknown): boolean {
  return (
    isObject(block) && typeof block.text === 'string' && block.text.startsWith('x-anthropic-billing-header:')
  );
}

/** `isIncomplete` is whether the answer that the model continues has lost what the model thought before it. */
function passedMessages(
  { body, signatures }: Original,
  { maker }: Upstream,
): { messages: readonly unknown[]; isIncomplete: boolean } {
  let isIncomplete = false;
  const messages = (body.messages as readonly Fields[]).flatMap((message) => {
    const { role, content } = message;
    if (role !== 'assistant' || !Array.isArray(content)) return [message];
    const blocks = (content as readonly Fields[]).flatMap((block) => openBlock(block, signatures, maker));
    isIncomplete = sealedField(content[0] as Fields) !== null && sealedField(blocks[0] ?? {}) === null;
    if (blocks.length === 0) return [];
    return [{ ...message, content: blocks }];
  });
  return { messages, isIncomplete };
}

/**
 * Thinking that another model did, or nobody that we know of, is left out: the provider would reject it. So is the empty
 * text that a model of another vendor may have written.
 */
function openBlock(
  block: Fields,
  signatures: Original['signatures'],
  maker: string | undefined,
): readonly Fields[] {
  const field = sealedField(block);
  if (field === null) return block.type === 'text' && block.text === '' ? [] : [block];
  const signature = signatures.get(block[field] as string) ?? null;
  return signature === null || signature.madeBy !== maker ? [] : [{ ...block, [field]: signature.value }];
}

/** The field of a block that holds what only the model can read. */
function sealedField({ type }: Fields): 'signature' | 'data' | null {
  if (type === 'thinking') return 'signature';
  return type === 'redacted_thinking' ? 'data' : null;
}

const leastBudget = 1_024;

/** A budget for thinking that was below the limit on output stays below it. */
function withinLimit(body: Fields & { max_tokens?: unknown }, asked: unknown): Fields {
  const thinking = objectAt(body, 'thinking');
  const [budget, limit] = [Number(thinking?.budget_tokens), Number(body.max_tokens)];
  if (thinking?.type !== 'enabled' || !(budget >= limit) || budget >= Number(asked)) return body;
  return limit > leastBudget
    ? { ...body, thinking: { ...thinking, budget_tokens: limit - 1 } }
    : { ...body, thinking: { type: 'disabled' } };
}

/** Clients rely on these, and not every vendor of the format has all of them. */
const leastMessage = { type: 'message', role: 'assistant', stop_reason: null, stop_sequence: null };

/** A message with our own ID and name of the model. */
function passedMessage(message: Fields, { model }: Echo, { requestId }: Upstream): JsonObject {
  return { ...leastMessage, ...publicFields(message, ['usage']), id: requestId, model };
}

function passedAnswer(body: Fields, echo: Echo, upstream: Upstream): JsonObject {
  const content = (body.content as readonly Fields[]).map((block) => passedBlock(block, echo, upstream));
  return { ...passedMessage(body, echo, upstream), content };
}

/**
 * What comes back is passed on as it is: an ID of our own is as good as the provider's, and every other provider takes it
 * too.
 */
function passedBlock(block: Fields, echo: Echo, upstream: Upstream): Fields {
  const shown = publicFields(block);
  return shown.type === 'tool_use' && typeof shown.id === 'string'
    ? { ...shown, id: toWireId(shown.id) }
    : sealBlock(shown, echo, upstream);
}

function sealBlock(block: Fields, { seal }: Echo, { maker = '' }: Upstream): Fields {
  const field = sealedField(block);
  const value = field === null ? null : block[field];
  if (field === null || typeof value !== 'string' || value === '') return block;
  return { ...block, [field]: seal({ value, madeBy: maker }) };
}

/** Adds to each event of the adapter what the client gets of it. */
function passedReader(
  read: (data: string) => readonly ChatEvent[],
  echo: Echo,
  upstream: Upstream,
): (data: string) => readonly ChatEvent[] {
  return (data) => {
    const events = read(data);
    const wire = passedEvent(data, echo, upstream);
    if (wire === null) return events;
    const [first, ...others] = events;
    if (first === undefined)
      return [{ type: data.includes('"thinking_delta"') ? 'reasoning' : 'wire', text: '', wire }];
    // Usage alone is not passed on: the last event has it, as it is charged.
    return first.type === 'usage' || first.type === 'failure' || first.type === 'end'
      ? events
      : [{ ...first, wire }, ...others];
  };
}

/** Events that are passed on as they are, as long as nothing in them may have to be changed. */
const plainEvents: ReadonlySet<string> = new Set(['content_block_delta', 'content_block_stop', 'ping']);
const mayNeedChange = new RegExp(`"signature"|${privateFieldPattern}`);

/** The event as the client gets it; null for one that it does not get. */
function passedEvent(data: string, echo: Echo, upstream: Upstream): string | null {
  const [, known = ''] = /^\{"type": ?"(\w{1,40})"/.exec(data) ?? [];
  if (plainEvents.has(known) && !mayNeedChange.test(data) && !data.includes('\n'))
    return `event: ${known}\ndata: ${data}\n\n`;
  const event = parseObject(data);
  const type = event?.type;
  if (event === null || typeof type !== 'string' || !/^\w{1,40}$/.test(type)) return null;
  if (type === 'error' || type === 'message_stop') return null;
  // Clients expect counts in it, and take them from the last one.
  if (type === 'message_delta' && objectAt(event, 'delta')?.stop_reason == null) return null;
  return `event: ${type}\ndata: ${JSON.stringify(rewritten(event, echo, upstream))}\n\n`;
}

function rewritten(event: Fields, echo: Echo, upstream: Upstream): Fields {
  const { type, message, content_block: block } = event;
  const own = publicFields(event, ['delta', 'usage']);
  if (type === 'message_start' && isObject(message)) {
    const passed = passedMessage(message, echo, upstream);
    return { ...own, message: { ...passed, usage: firstUsage(objectAt(passed, 'usage')) } };
  }
  if (type === 'content_block_start' && isObject(block))
    return { ...own, content_block: passedBlock(block, echo, upstream) };
  const { delta } = own;
  if (type !== 'content_block_delta' || !isObject(delta) || delta.type !== 'signature_delta') return own;
  const sealed = sealBlock({ type: 'thinking', signature: delta.signature }, echo, upstream);
  return { ...own, delta: { ...delta, signature: sealed.signature } };
}

/** Clients rely on these counts, though those of the last event replace them. */
function firstUsage(usage: Fields | null): Fields {
  const counts = Object.entries(usage ?? {}).filter(
    ([name, value]) => isCount(value) || !name.endsWith('_tokens'),
  );
  return { input_tokens: 0, output_tokens: 0, ...Object.fromEntries(counts) };
}

const deltaEvent =
  /event: content_block_delta\ndata: \{"type":"content_block_delta","index":\d{1,9},"delta":\{"type":"(text_delta","text|thinking_delta","thinking)":"([^"\\\p{Cc}\p{Cs}]+)"\} *\}\n\n/uy;

/** The common events: pieces of text that need no decoding. Vendors pad them with spaces to hide the length of the text. */
function readDeltas(text: string, events: ChatEvent[]): number {
  deltaEvent.lastIndex = 0;
  let taken = 0;
  for (let match = deltaEvent.exec(text); match !== null; match = deltaEvent.exec(text)) {
    const [wire, kind = '', piece = ''] = match;
    taken += wire.length;
    events.push({ type: kind.startsWith('text') ? 'text' : 'reasoning', text: piece, wire });
  }
  return taken;
}
