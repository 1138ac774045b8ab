/** The IDs of a response and its items, made from that of the request, so that they are the same wherever they occur. */
export type ItemType = 'message' | 'function_call' | 'custom_tool_call' | 'reasoning';

const prefixes: Readonly<Record<ItemType, string>> = {
  message: 'msg',
  function_call: 'fc',
  custom_tool_call: 'ctc',
  reasoning: 'rs',
};

export function responseIdOf(requestId: string): string {
  return `resp_${digitsOf(requestId)}`;
}

/** `place` is where the item is in the output. */
export function itemIdOf(requestId: string, type: ItemType, place: number): string {
  return `${prefixes[type]}_${digitsOf(requestId)}_${place}`;
}

function digitsOf(requestId: string): string {
  return requestId.slice(requestId.indexOf('_') + 1);
}
