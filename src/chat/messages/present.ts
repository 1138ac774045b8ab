/** Non-streamed responses in Anthropic's Messages format. */
import type { Charge } from '../../ledger/settlement.ts';
import {
  type AnswerItem,
  type ChatAnswer,
  type FinishReason,
  type JsonObject,
  toolCallsOf,
} from '../../providers/chat.ts';
import { toWireId } from '../../providers/messages-tool-ids.ts';
import { readArguments } from '../../providers/tool-arguments.ts';
import type { ResponseFacts } from '../dialect.ts';
import type { AskedOfMessages } from './parse.ts';
import { presentUsage } from './usage.ts';

export function presentMessage(
  { requestId, model, asked }: ResponseFacts<AskedOfMessages>,
  { items, finishReason, usage, wire }: ChatAnswer,
  charge: Charge,
): object {
  const charged = presentUsage(charge, usage);
  if (wire !== undefined)
    return { ...wire, id: requestId, model, usage: { ...(wire.usage as JsonObject), ...charged } };
  return {
    id: requestId,
    type: 'message',
    role: 'assistant',
    model,
    content: items.flatMap((item) => presentItem(item, asked)),
    stop_reason: stopReason(finishReason, toolCallsOf(items).length > 0),
    stop_sequence: null,
    usage: charged,
  };
}

function presentItem(item: AnswerItem, { thinking, seal }: AskedOfMessages): readonly object[] {
  switch (item.type) {
    case 'text':
      return item.text === '' ? [] : [{ type: 'text', text: item.text }];
    case 'tool_call':
      return [
        {
          type: 'tool_use',
          id: toWireId(item.id),
          name: item.name,
          // What a model wrote instead of an object is kept, where the tool can say what is wrong with it.
          input: readArguments(item.arguments) ?? { arguments: item.arguments },
        },
      ];
    case 'reasoning': {
      if (thinking === 'nothing') return [];
      const signature = item.signature === null ? '' : seal(item.signature);
      return [{ type: 'thinking', thinking: thinking === 'text' ? item.text : '', signature }];
    }
  }
}

const stopReasons: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
};

/** Some providers call tools and say that they simply stopped. A client of this format would not run them. */
export function stopReason(reason: FinishReason, hasCalls: boolean): string {
  return reason === 'stop' && hasCalls ? 'tool_use' : stopReasons[reason];
}
