/**
 * Where servers that speak OpenAI's format differ from each other. A provider's entry in the catalogue says which it
 * is, so that one more compatible vendor needs no code.
 */
export type Dialect = Readonly<{
  /** What the limit on the answer is called. */
  maxTokens: 'max_tokens' | 'max_completion_tokens';
  seed: 'seed' | 'random_seed';
  /** Whether a stream tells its usage only when `stream_options` asks for it, or always and refuses that field. */
  streamUsage: 'asked' | 'always';
  /** Whether images may be named by an https address or must be sent along. */
  images: 'any' | 'data';
}>;

export const usualDialect: Dialect = {
  maxTokens: 'max_tokens',
  seed: 'seed',
  streamUsage: 'asked',
  images: 'any',
};
