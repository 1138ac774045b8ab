/** Makes one call to one chat provider, whichever format it speaks. */
import {
  type ChatAdapter,
  type ChatAnswer,
  type ChatCall,
  type ChatEvent,
  ProviderError,
  type Upstream,
} from './chat.ts';
import { openai } from './openai.ts';
import { type CallDeadlines, postForJson, postForStream } from './transport.ts';

const adapters: ReadonlyMap<string, ChatAdapter> = new Map([
  ['openai', openai],
  ['sandbox', openai],
]);

export function chatAdapter(name: string): ChatAdapter | null {
  return adapters.get(name) ?? null;
}

export async function completeChat(
  adapter: ChatAdapter,
  call: ChatCall,
  upstream: Upstream,
  limits: CallDeadlines,
): Promise<{ status: number; answer: ChatAnswer }> {
  const { status, body } = await postForJson(adapter.chatRequest(call, upstream, false), limits, null);
  try {
    return { status, answer: adapter.readAnswer(body) };
  } catch (error) {
    throw withStatus(error, status);
  }
}

/** An adapter does not know the status that came with what it reads. */
function withStatus(error: unknown, status: number): unknown {
  return error instanceof ProviderError && error.upstreamStatus === null
    ? new ProviderError(error.code, status)
    : error;
}

export type ChatEventStream = Readonly<{
  status: number;
  /** The next events, possibly none of interest; null when the provider has ended its stream. */
  next: () => Promise<readonly ChatEvent[] | null>;
  close: () => void;
}>;

export async function streamChat(
  adapter: ChatAdapter,
  call: ChatCall,
  upstream: Upstream,
  limits: CallDeadlines,
): Promise<ChatEventStream> {
  const stream = await postForStream(adapter.chatRequest(call, upstream, true), limits, null);
  const read = adapter.openReader();
  let failure: unknown = null;

  /** What came before a failure in the same packet is still passed on; the failure follows. */
  async function next(): Promise<readonly ChatEvent[] | null> {
    if (failure !== null) throw failure;
    const batch = await stream.next();
    if (batch === null) return null;
    const events: ChatEvent[] = [];
    try {
      for (const data of batch) events.push(...read(data));
    } catch (error) {
      failure = withStatus(error, stream.status);
      if (events.length === 0) throw failure;
    }
    return events;
  }

  return { status: stream.status, close: stream.close, next };
}
