/** How much a model should think before it answers, and what a model can be told about that. */

/** From least to most. */
export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof efforts)[number];

/** What the catalogue says about the reasoning of a model. */
export type ReasoningSupport = Readonly<{
  /** Those that it takes, from least to most. */
  efforts: readonly Effort[];
  /** Those that it takes together with tools in chat completions. Other formats take all of them. */
  effortsWithTools: readonly Effort[];
  /** Whether it is told the effort by name, or as the number of tokens that it may think. */
  control: 'effort' | 'budget';
}>;

/** Null when the call asks for nothing, or the model can be told nothing. */
export function effortFor(
  { effort }: Readonly<{ effort: Effort | null }>,
  support: ReasoningSupport | null | undefined,
): Effort | null {
  return effort === null || !support ? null : nearestEffort(effort, support.efforts);
}

/**
 * The supported effort that is nearest to the one asked for; of two, the one that costs less. Not to think at all is
 * another kind of answer: it is chosen for nothing else.
 */
export function nearestEffort(asked: Effort, supported: readonly Effort[]): Effort | null {
  if (supported.includes(asked)) return asked;
  const wanted = efforts.indexOf(asked);
  let nearest: Effort | null = null;
  let nearestDistance = Number.POSITIVE_INFINITY;
  for (const [index, effort] of efforts.entries()) {
    const distance = effort === 'none' ? efforts.length : Math.abs(index - wanted);
    if (!supported.includes(effort) || distance >= nearestDistance) continue;
    nearest = effort;
    nearestDistance = distance;
  }
  return nearest;
}

/** As Google translates efforts for its models that are given a number of tokens: ai.google.dev/gemini-api/docs/openai. */
const budgets: Readonly<Record<Exclude<Effort, 'none'>, number>> = {
  minimal: 1_024,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
};

/** The least that Anthropic accepts. */
const minBudget = 1_024;

/** How many tokens a model may think of those that the answer may have. Null when that leaves no room to think. */
export function budgetOf(effort: Exclude<Effort, 'none'>, maxOutputTokens: number | null): number | null {
  const room = maxOutputTokens === null ? Number.POSITIVE_INFINITY : Math.floor(maxOutputTokens / 2);
  return room < minBudget ? null : Math.min(budgets[effort], room);
}
