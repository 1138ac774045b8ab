/** What a provider said that it used, where that was beyond what the request can have used. */
import type { OperatorGeneration } from '../../../../src/console/operator-contract.ts';
import { formatCount } from '../../../kit/format-figures.ts';

/** In sentences, for the operator who has to clear it up; none when the provider was believed. */
export function describeReported({
  usage,
  reported_usage: reported,
}: Pick<OperatorGeneration, 'usage' | 'reported_usage'>): string[] {
  if (reported === null) return [];
  const { input_tokens: input, output_tokens: output } = reported;
  if (usage === null || usage.unit !== 'tokens')
    return [`The provider reported ${formatCount(input)} input and ${formatCount(output)} output tokens.`];
  const sentences: string[] = [];
  if (input > usage.input_tokens)
    sentences.push(
      `The provider reported ${formatCount(input)} input tokens; the request cannot have more than ${formatCount(usage.input_tokens)}. Charged for ${formatCount(usage.input_tokens)}.`,
    );
  if (output > usage.output_tokens)
    sentences.push(
      `The provider reported ${formatCount(output)} output tokens; at most ${formatCount(usage.output_tokens)} were asked for. Charged for ${formatCount(usage.output_tokens)}.`,
    );
  if (output === 0) sentences.push('The provider reported no output tokens, but delivered text.');
  return sentences;
}
