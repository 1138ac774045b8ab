/** OpenAI's chat completions, as the contract has them. */
import type { ChatDialect } from '../dialect.ts';
import { type ChatExtension, parseExtendedChat } from './extensions.ts';
import type { AskedOfCompletions } from './parse.ts';
import { ChunkWriter, presentCompletion } from './present.ts';

/** `extensions` are the parameters beyond the contract that are served too. */
export function completionsWith(extensions: ReadonlySet<ChatExtension>): ChatDialect<AskedOfCompletions> {
  return {
    api: 'chat_completions',
    route: 'chat',
    parse: (body) => parseExtendedChat(body, extensions),
    present: presentCompletion,
    openWriter: (facts) => new ChunkWriter(facts),
    showsReasoning: false,
  };
}

export const completions = completionsWith(new Set());
