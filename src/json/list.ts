import { z } from 'zod';

/**
 * A list whose check ends at its first invalid item. zod's own list collects every issue, and a body of 20 MB has room
 * for ten million of them. Only one is ever reported.
 */
const ListToFirstFault = z.core.$constructor<z.core.$ZodArray>('ListToFirstFault', (list, definition) => {
  z.core.$ZodArray.init(list, definition);
  list._zod.parse = (payload, context) => {
    const input: unknown = payload.value;
    if (!Array.isArray(input)) {
      payload.issues.push({ code: 'invalid_type', expected: 'array', input, inst: list });
      return payload;
    }
    const items: unknown[] = [];
    for (let index = 0; index < input.length; index++) {
      const result = definition.element._zod.run({ value: input[index], issues: [] }, context);
      if (result instanceof Promise) throw new z.core.$ZodAsyncError();
      if (result.issues.length > 0) {
        payload.issues.push(...z.core.util.prefixIssues(index, result.issues));
        return payload;
      }
      items.push(result.value);
    }
    payload.value = items;
    return payload;
  };
});

/** `expected` describes what a client should have sent. */
export function listOf<Item extends z.core.$ZodType>(
  item: Item,
  expected: string,
  { min = 0, max }: Readonly<{ min?: number; max?: number }> = {},
): z.core.$ZodArray<Item> {
  const checks = [
    ...(min > 0 ? [z.minLength(min, expected)] : []),
    ...(max === undefined ? [] : [z.maxLength(max, expected)]),
  ];
  const list = new ListToFirstFault({ type: 'array', element: item, checks, error: () => expected });
  return list as unknown as z.core.$ZodArray<Item>;
}
