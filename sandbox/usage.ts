/** Counts tokens by a simple rule instead of a tokenizer, so that a test can recompute it. */

import type { Answer } from './chat-answer.ts';
import { type ChatRequest, countImages, textOf } from './chat-request.ts';
import type { Scenario } from './scenario.ts';

const tokensPerMessage = 4;
const tokensPerImage = 85;
const bytesPerToken = 4;

/** The usage to report, before a format serialises it. */
export type TokenCounts = Readonly<{
  /** All of the input, including cached tokens. */
  inputTokens: number;
  /** All of the output, including reasoning. */
  outputTokens: number;
  /** Parts of the input: read from a cache, and written to one, for the usual time or for longer. */
  cachedTokens: number;
  writtenTokens: number;
  writtenLongTokens: number;
  reasoningTokens: number;
}>;

/** As it appears in the answer and in the log. Wrong if a directive asks for it. */
export type ReportedUsage = Readonly<Record<string, unknown>>;

/** A format's names for the figures that a directive can falsify. */
export type UsageNames = Readonly<{ input: string; output: string; total: string | null }>;

const noTokens: TokenCounts = {
  inputTokens: 0,
  outputTokens: 0,
  cachedTokens: 0,
  writtenTokens: 0,
  writtenLongTokens: 0,
  reasoningTokens: 0,
};

export function countTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken);
}

export function countPromptTokens({ messages, tools }: ChatRequest): number {
  let tokens = countImages(messages) * tokensPerImage;
  for (const message of messages) {
    tokens += tokensPerMessage + countTokens(textOf(message));
    if (message.tool_calls) tokens += countTokens(JSON.stringify(message.tool_calls));
  }
  if (tools?.length) tokens += countTokens(JSON.stringify(tools));
  return tokens;
}

/** The usage to report for a chat answer, or null for none. */
export function countUsage(request: ChatRequest, answer: Answer, scenario: Scenario): TokenCounts | null {
  if (scenario['no-usage']) return null;
  if (scenario['zero-usage']) return noTokens;
  const { cached = 0, reasoning = 0, 'cache-write': write } = scenario;
  const [inputTokens, outputTokens] = scenario.usage ?? [
    countPromptTokens(request),
    answer.tokens + reasoning,
  ];
  // The parts never exceed the total, even if `[[usage …]]` makes the total small.
  const cachedTokens = Math.min(cached, inputTokens);
  const written = Math.min(write?.tokens ?? 0, inputTokens - cachedTokens);
  return {
    inputTokens,
    outputTokens,
    cachedTokens,
    writtenTokens: write?.isLong ? 0 : written,
    writtenLongTokens: write?.isLong ? written : 0,
    reasoningTokens: Math.min(reasoning, outputTokens),
  };
}

/** Makes a usage impossible. */
export function spoilUsage(
  usage: ReportedUsage,
  { input, output, total }: UsageNames,
  how: Scenario['bad-usage'],
): ReportedUsage {
  const count = (name: string) => Number(usage[name] ?? 0);
  switch (how) {
    case undefined:
      return usage;
    case 'negative':
      return { ...usage, [input]: -count(input) };
    case 'fraction':
      return { ...usage, [output]: count(output) + 0.5 };
    case 'string':
      return { ...usage, [output]: String(count(output)) };
    case 'partial':
      return { [input]: usage[input] };
    case 'total':
      return total === null ? usage : { ...usage, [total]: count(total) + 1 };
  }
}
