/** How the sandbox counts tokens, and what it reports. The rule is a rule, not a tokenizer: anyone can redo it. */

import type { Answer } from './chat-answer.ts';
import { type ChatRequest, countImages, textOf } from './chat-request.ts';
import type { Scenario } from './scenario.ts';

const tokensPerMessage = 4;
const tokensPerImage = 85;
const bytesPerToken = 4;

/** What is to be reported, before a format puts it into its own fields. */
export type TokenCounts = Readonly<{
  /** All of the input, what came from a cache included. */
  inputTokens: number;
  /** All of the output, what was only thought included. */
  outputTokens: number;
  cachedTokens: number;
  reasoningTokens: number;
}>;

/** What is written into an answer and into the log. Wrong on purpose when a directive asks for it. */
export type ReportedUsage = Readonly<Record<string, unknown>>;

/** What a format calls the numbers that a directive can spoil. */
export type UsageNames = Readonly<{ input: string; output: string; total: string | null }>;

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
  if (scenario['zero-usage']) return { inputTokens: 0, outputTokens: 0, cachedTokens: 0, reasoningTokens: 0 };
  const { cached = 0, reasoning = 0 } = scenario;
  const [inputTokens, outputTokens] = scenario.usage ?? [
    countPromptTokens(request),
    answer.tokens + reasoning,
  ];
  // A part is never more than the whole, also when `[[usage …]]` made the whole small.
  return {
    inputTokens,
    outputTokens,
    cachedTokens: Math.min(cached, inputTokens),
    reasoningTokens: Math.min(reasoning, outputTokens),
  };
}

/** Makes a usage one that cannot be. */
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
