/**
 * Requests and answers between a client and a provider that both speak the Responses format. Whatever the gateway does not
 * know is passed on as it is; IDs, names of models and what tells who asked are the gateway's own.
 */
import type { Echo, JsonObject, Original, PassOn } from './chat.ts';
import { identityFields } from './end-user.ts';
import { publicFields } from './private-fields.ts';
import { readAnswer } from './responses-answer.ts';
import { ownItemId, responseIdOf } from './responses-ids.ts';
import { readReasoningSignature, reasoningSignature } from './responses-reasoning.ts';
import { cacheKeyOf, responsesRequest } from './responses-request.ts';
import { openStreamReader } from './responses-stream.ts';
import type { Upstream, UpstreamRequest } from './upstream.ts';
import { type Fields, isCount, isObject } from './wire.ts';

export const passOn: PassOn = {
  request,
  readAnswer: (body, echo, upstream) => {
    const answer = readAnswer(body, upstream);
    const wire = new ResponseRewriter(echo, upstream).response(body as Fields);
    return { ...answer, wire };
  },
  openReader: (echo, upstream) => {
    const rewriter = new ResponseRewriter(echo, upstream);
    return openStreamReader(upstream, (event, number) => rewriter.event(event, number));
  },
};

/** They tell who asked, which stays here, or what Codex thinks of its own session. */
const keptHere = ['metadata', 'client_metadata', 'safety_identifier', 'user'] as const;

function request(original: Original, upstream: Upstream, stream: boolean): UpstreamRequest {
  const { body } = original;
  const { headers, ...sent } = responsesRequest(upstream, {
    ...body,
    ...Object.fromEntries(keptHere.map((name) => [name, undefined])),
    model: upstream.model,
    input: passedInput(body.input, original, upstream),
    // Always sent, because the hold covers no more than this.
    max_output_tokens: upstream.maxOutputTokens ?? undefined,
    // Never the client's own: nobody may choose where another customer's cache is looked for.
    prompt_cache_key: cacheKeyOf(upstream),
    store: false,
    stream: stream || undefined,
    ...identityFields(upstream.endUser),
  });
  return { ...sent, headers: { ...original.headers, ...headers } };
}

function passedInput(input: unknown, original: Original, upstream: Upstream): unknown {
  if (!Array.isArray(input)) return input;
  return (input as readonly unknown[]).flatMap((item): readonly unknown[] =>
    isObject(item) && item.type === 'reasoning' ? passedReasoning(item, original, upstream) : [item],
  );
}

/** With the ID and content that its maker gave it. What somebody else made is left out. */
function passedReasoning(item: Fields, original: Original, { maker }: Upstream): readonly Fields[] {
  const { encrypted_content: sealed } = item;
  const signature = typeof sealed === 'string' ? original.signatures.get(sealed) : null;
  if (!signature || signature.madeBy !== maker) return [];
  const opened = readReasoningSignature(signature);
  return opened === null ? [] : [{ ...item, ...opened }];
}

/** What the provider was told in their place is not the client's either. */
const notEchoed = [...keptHere, 'prompt_cache_key'] as const;

/** More items than any answer has. */
const maxRemembered = 1_000;
/** Longer than the ID of any vendor. */
const maxRememberedId = 1_000;

/** Rewrites the objects of one answer. The same item has the same ID everywhere. */
class ResponseRewriter {
  readonly #echo: Echo;
  readonly #upstream: Upstream;
  /** By the places of their items; for one that came without a place, by the vendor's ID. */
  readonly #itemIds = new Map<number | string, string>();
  #withoutPlace = 0;
  /** By the vendor's content: the same seal for the same content. */
  readonly #seals = new Map<string, string>();

  constructor(echo: Echo, upstream: Upstream) {
    this.#echo = echo;
    this.#upstream = upstream;
  }

  response(response: Fields): JsonObject {
    const own = publicFields(response, ['usage']);
    own.id = responseIdOf(this.#upstream.requestId);
    own.model = this.#echo.model;
    for (const name of notEchoed) if (name in response) own[name] = name === 'metadata' ? {} : null;
    if (Array.isArray(response.output))
      own.output = response.output.map((item: unknown, place) =>
        isObject(item) ? this.#item(item, place) : item,
      );
    return own;
  }

  /** An event of the stream as the client gets it. */
  event(event: Fields, number: number): string {
    const { type, output_index: index, item, response } = event;
    const own = publicFields(event, ['part', 'usage']);
    own.sequence_number = number;
    const place = isCount(index) ? index : null;
    if (isObject(response)) own.response = this.response(response);
    if (isObject(item)) own.item = this.#item(item, place);
    if (typeof event.item_id === 'string') own.item_id = this.#idAt(place, null, event.item_id);
    if ('response_id' in event) own.response_id = responseIdOf(this.#upstream.requestId);
    return `event: ${String(type)}\ndata: ${JSON.stringify(own)}\n\n`;
  }

  #item(item: Fields, place: number | null): Fields {
    const own = publicFields(item);
    if (typeof item.id === 'string') own.id = this.#idAt(place, item.type, item.id);
    if (item.type === 'reasoning' && 'encrypted_content' in item) own.encrypted_content = this.#sealed(item);
    return own;
  }

  #idAt(place: number | null, type: unknown, vendorsId: string): string {
    const key = place ?? vendorsId;
    const known = this.#itemIds.get(key) ?? this.#itemIds.get(vendorsId);
    const id = known ?? ownItemId(this.#upstream.requestId, type, place ?? this.#nextSuffix(), vendorsId);
    const isShort = typeof key === 'number' || key.length <= maxRememberedId;
    if (isShort && this.#itemIds.size < maxRemembered) this.#itemIds.set(key, id);
    return id;
  }

  /** Cannot be a place. */
  #nextSuffix(): string {
    this.#withoutPlace += 1;
    return `x${this.#withoutPlace}`;
  }

  #sealed(item: Fields): string | null {
    const signature = reasoningSignature(item, this.#upstream.maker);
    if (signature === null) return null;
    const sealed = this.#seals.get(signature.value) ?? this.#echo.seal(signature);
    if (this.#seals.size < maxRemembered) this.#seals.set(signature.value, sealed);
    return sealed;
  }
}
