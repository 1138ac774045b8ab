/** Bodies of chat requests, as they stand on the wire. */
import { ApiError } from '../../src/errors.ts';

export type Fields = Readonly<Record<string, unknown>>;

export const user = { role: 'user', content: 'Hello' };
export const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } };
export const asking = { role: 'assistant', content: null, tool_calls: [call] };
export const look = { type: 'function', function: { name: 'look' } };
export const url = 'https://example.com/cat.png';

export const basic = { model: 'm', messages: [user] };
export const plus = (fields: Fields): Fields => ({ ...basic, ...fields });
export const talk = (...messages: readonly unknown[]): Fields => ({ model: 'm', messages });
export const parts = (...content: readonly unknown[]): Fields => talk({ role: 'user', content });
export const image = (image_url: unknown): Fields => parts({ type: 'image_url', image_url });
export const tools = (...list: readonly unknown[]): Fields => plus({ tools: list });
export const toolFunction = (fields: unknown): Fields => tools({ type: 'function', function: fields });
export const jsonSchema = (json_schema: unknown): Fields =>
  plus({ response_format: { type: 'json_schema', json_schema } });
export const without = (body: Fields, name: string): Fields =>
  Object.fromEntries(Object.entries(body).filter(([key]) => key !== name));

/** Only what is not null. */
export const present = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

export function refusalOf(work: () => unknown): ApiError {
  try {
    work();
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown;
    throw thrown;
  }
  throw new TypeError('expected a refusal');
}
