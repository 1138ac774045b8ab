/** How the sandbox counts tokens, and what it reports. The rule is a rule, not a tokenizer: anyone can redo it. */

import { type ChatRequest, countImages, textOf } from './chat-request.ts';
import type { Scenario } from './scenario.ts';

const tokensPerMessage = 4;
const tokensPerImage = 85;
const bytesPerToken = 4;

/** What is written into an answer and into the log. Wrong on purpose when a directive asks for it. */
export type ReportedUsage = Readonly<Record<string, unknown>>;

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
export function reportUsage(
  promptTokens: number,
  answerTokens: number,
  scenario: Scenario,
): ReportedUsage | null {
  if (scenario['no-usage']) return null;
  if (scenario['zero-usage']) return openaiUsage(0, 0, 0);
  const reasoningTokens = scenario.reasoning ?? 0;
  const [prompt, completion] = scenario.usage ?? [promptTokens, answerTokens + reasoningTokens];
  const usage = openaiUsage(prompt, completion, reasoningTokens);
  switch (scenario['bad-usage']) {
    case undefined:
      return usage;
    case 'negative':
      return { ...usage, prompt_tokens: -prompt };
    case 'fraction':
      return { ...usage, completion_tokens: completion + 0.5 };
    case 'string':
      return { ...usage, completion_tokens: String(completion) };
    case 'partial':
      return { prompt_tokens: prompt };
    case 'total':
      return { ...usage, total_tokens: prompt + completion + 1 };
  }
}

function openaiUsage(prompt: number, completion: number, reasoningTokens: number): ReportedUsage {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reasoningTokens,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}
