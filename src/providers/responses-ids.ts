/** The IDs of a response and its items in the Responses format, made from that of the request: the same wherever they occur. */
const prefixes = { message: 'msg', function_call: 'fc', custom_tool_call: 'ctc', reasoning: 'rs' } as const;

export type ItemType = keyof typeof prefixes;

export function responseIdOf(requestId: string): string {
  return `resp_${digitsOf(requestId)}`;
}

/** `place` is where the item is in the output. Its vendor looks at the prefix when it comes back. */
export function itemIdOf(requestId: string, type: ItemType, place: number): string {
  return idAt(requestId, prefixes[type], place);
}

const prefixByType: ReadonlyMap<unknown, string> = new Map(Object.entries(prefixes));

/** The same for an item of any type, in the place of the ID that its vendor gave it. Any suffix does for one without a place. */
export function ownItemId(
  requestId: string,
  type: unknown,
  place: number | string,
  vendorsId: string,
): string {
  const prefix = prefixByType.get(type) ?? /^[a-z]{1,12}(?=_)/.exec(vendorsId)?.[0] ?? 'item';
  return idAt(requestId, prefix, place);
}

function idAt(requestId: string, prefix: string, place: number | string): string {
  return `${prefix}_${digitsOf(requestId)}_${place}`;
}

function digitsOf(requestId: string): string {
  return requestId.slice(requestId.indexOf('_') + 1);
}
