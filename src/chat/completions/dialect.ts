/** OpenAI's chat completions, as the contract has them. */
import type { ChatDialect } from '../dialect.ts';
import { type AskedOfCompletions, parseChat } from './parse.ts';
import { ChunkWriter, presentCompletion } from './present.ts';

export const completions: ChatDialect<AskedOfCompletions> = {
  route: 'chat',
  parse: parseChat,
  present: presentCompletion,
  openWriter: (facts) => new ChunkWriter(facts),
  showsReasoning: false,
};
