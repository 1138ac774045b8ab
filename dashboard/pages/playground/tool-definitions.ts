/** Tool definitions as someone writes them, checked by the same rules as the API's. */
import { isObject } from './parameters.ts';

export type ToolDefinition = Readonly<Record<string, unknown>>;

export const exampleTools = `[
  {
    "type": "function",
    "function": {
      "name": "get_weather",
      "description": "The weather of a city, now.",
      "parameters": {
        "type": "object",
        "properties": { "city": { "type": "string" } },
        "required": ["city"]
      }
    }
  }
]`;

/** An empty text is no tools, which is no problem. */
export function parseTools(
  text: string,
): Readonly<{ tools: readonly ToolDefinition[]; problem: string | null }> {
  if (text.trim() === '') return { tools: [], problem: null };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return refused(`This is not JSON: ${error instanceof Error ? error.message : 'it cannot be read'}`);
  }
  if (!Array.isArray(value)) return refused('Tools are a list: begin with [ and end with ].');
  const tools: unknown[] = value;
  const problem = tools.map(problemOfTool).find((found) => found !== null) ?? repeatedName(tools);
  return problem === null ? { tools: tools.filter(isObject), problem: null } : refused(problem);
}

function refused(problem: string) {
  return { tools: [], problem };
}

function problemOfTool(tool: unknown, at: number): string | null {
  const place = `Tool ${at + 1}`;
  if (!isObject(tool)) return `${place} must be an object.`;
  const unknown = strangerIn(tool, ['type', 'function']);
  if (unknown !== undefined) return `${place} has a field “${unknown}” that tools do not have.`;
  if (tool.type !== 'function') return `${place} needs "type": "function".`;
  const declared = tool.function;
  if (!isObject(declared)) return `${place} needs an object "function".`;
  const stranger = strangerIn(declared, ['name', 'description', 'parameters']);
  if (stranger !== undefined)
    return `The function of ${place.toLowerCase()} has an unknown field “${stranger}”.`;
  const { name, description, parameters } = declared;
  if (typeof name !== 'string' || !/^[a-zA-Z0-9_-]{1,64}$/.test(name))
    return `${place} needs a "name" of 1 to 64 letters, digits, underscores or dashes.`;
  if (description !== undefined && typeof description !== 'string')
    return `The "description" of ${name} must be a text.`;
  if (parameters !== undefined && !isObject(parameters))
    return `The "parameters" of ${name} must be a JSON Schema object.`;
  return null;
}

function strangerIn(value: Record<string, unknown>, known: readonly string[]): string | undefined {
  return Object.keys(value).find((name) => !known.includes(name));
}

function repeatedName(tools: readonly unknown[]): string | null {
  const names = tools.map((tool) => (tool as { function: { name: string } }).function.name);
  const repeated = names.find((name, at) => names.indexOf(name) !== at);
  return repeated === undefined ? null : `Two tools have the name ${repeated}.`;
}
