/** One request, and what its client saw of it. */

import type { Usage } from '../world/upstream.ts';
import type { RequestPlan } from './request-plan.ts';

export type Outcome = 'success' | 'error' | 'cut' | 'aborted' | 'unreachable' | 'unanswered';

/** One line of the client's log. */
export type Seen = Readonly<{
  token: string;
  kind: string;
  keyName: string;
  streaming: boolean;
  /** What the hold covers, if the request limits the length of its answer. */
  bounds: Usage | null;
  /** Which gateway got the request, and when. */
  node: number;
  startedAtMs: number;
  /** Null when no header arrived. */
  requestId: string | null;
  /** When the header arrived: nothing arrives before it. */
  firstByteAtMs: number | null;
  outcome: Outcome;
  status: number | null;
  /** The code of the error that the client received. */
  code: string | null;
  usage: Usage | null;
  /** Whether what arrived is the beginning of the expected answer. */
  isOwnAnswer: boolean;
  ms: number;
}>;

/** Longer than anything that the gateway may wait for in these runs. */
const unansweredMs = 40_000;

type Answer = { text: string; usage: Usage | null; code: string | null; isWhole: boolean };

export async function call(
  { origin, index }: Readonly<{ origin: string; index: number }>,
  key: string,
  plan: RequestPlan,
): Promise<Seen> {
  const startedAt = performance.now();
  const startedAtMs = Date.now();
  const controller = new AbortController();
  let ending: Outcome = 'cut';
  const end = (outcome: Outcome) => {
    ending = outcome;
    controller.abort();
  };
  const timers = [setTimeout(() => end('unanswered'), unansweredMs)];
  if (plan.abortAfterMs !== null) timers.push(setTimeout(() => end('aborted'), plan.abortAfterMs));
  let response: Response | null = null;
  let firstByteAtMs: number | null = null;
  const answer: Answer = { text: '', usage: null, code: null, isWhole: false };
  try {
    response = await fetch(`${origin}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        ...(plan.endUser == null ? {} : { 'x-end-user': plan.endUser }),
      },
      body: JSON.stringify(plan.body),
      signal: controller.signal,
    });
    firstByteAtMs = Date.now();
    if (response.status === 200 && plan.streaming) await readStream(response, answer);
    else await readWhole(response, answer);
    ending = answer.code !== null ? 'error' : answer.isWhole ? 'success' : 'cut';
  } catch (error) {
    if (ending === 'cut' && isRefused(error)) ending = 'unreachable';
  } finally {
    for (const timer of timers) clearTimeout(timer);
  }
  return {
    token: plan.token,
    kind: plan.kind,
    keyName: plan.keyName,
    streaming: plan.streaming,
    bounds: plan.bounds,
    node: index,
    startedAtMs,
    requestId: response?.headers.get('x-service-request-id') ?? null,
    firstByteAtMs,
    outcome: ending,
    status: response?.status ?? null,
    code: answer.code,
    usage: answer.usage,
    isOwnAnswer: ending === 'success' ? answer.text === plan.answer : plan.answer.startsWith(answer.text),
    ms: Math.round(performance.now() - startedAt),
  };
}

type Chunk = {
  error?: { code?: string };
  choices?: { delta?: { content?: string }; message?: { content?: string } }[];
  usage?: {
    prompt_tokens: number;
    completion_tokens: number;
    prompt_tokens_details?: { cached_tokens?: number; cache_write_tokens?: number };
  };
};

async function readWhole(response: Response, answer: Answer): Promise<void> {
  const body = (await response.json()) as Chunk;
  take(body, answer);
  if (response.status !== 200) answer.code ??= `status ${response.status}`;
  answer.isWhole = true;
}

/** A stream is a success when it ends with [DONE] and no error came before. */
async function readStream(response: Response, answer: Answer): Promise<void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of response.body ?? []) {
    const events = (rest + decoder.decode(bytes, { stream: true })).split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) {
      if (event.startsWith(':')) continue;
      const data = event.replace(/^data: /, '');
      if (data === '[DONE]') answer.isWhole = true;
      else take(JSON.parse(data) as Chunk, answer);
    }
  }
}

function take(chunk: Chunk, answer: Answer): void {
  if (chunk.error) answer.code = chunk.error.code ?? 'unknown';
  const [choice] = chunk.choices ?? [];
  answer.text += choice?.delta?.content ?? choice?.message?.content ?? '';
  if (chunk.usage) {
    const { prompt_tokens_details: details } = chunk.usage;
    answer.usage = {
      inputTokens: chunk.usage.prompt_tokens,
      outputTokens: chunk.usage.completion_tokens,
      readTokens: details?.cached_tokens ?? 0,
      writtenTokens: details?.cache_write_tokens ?? 0,
    };
  }
}

function isRefused(error: unknown): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    (error.code === 'ConnectionRefused' || error.code === 'ECONNREFUSED')
  );
}
