/** The settings beside the conversation: texts as they are written, and what they become in a request. */
export const responseFormats = ['text', 'json_object', 'json_schema'] as const;
export type ResponseFormat = (typeof responseFormats)[number];

export type ParameterForm = Readonly<{
  temperature: string;
  maxTokens: string;
  topP: string;
  seed: string;
  responseFormat: ResponseFormat;
  /** Counts when the format is `json_schema`. */
  schema: string;
}>;

type ParameterName = 'temperature' | 'max_tokens' | 'top_p' | 'seed' | 'response_format';

const exampleSchema = `{
  "type": "object",
  "properties": {
    "answer": { "type": "string" }
  },
  "required": ["answer"],
  "additionalProperties": false
}`;

export const emptyParameters: ParameterForm = {
  temperature: '',
  maxTokens: '',
  topP: '',
  seed: '',
  responseFormat: 'text',
  schema: exampleSchema,
};

const largestInteger = 2_147_483_647;

type Parsed = Readonly<{
  fields: Readonly<Record<string, unknown>>;
  problems: Readonly<Partial<Record<ParameterName, string>>>;
}>;

/** What is left empty is left out, so that the model's own default counts. */
export function parseParameters(form: ParameterForm): Parsed {
  const fields: Record<string, unknown> = {};
  const problems: Partial<Record<ParameterName, string>> = {};
  const read = (name: ParameterName, text: string, isGood: (value: number) => boolean, expected: string) => {
    const trimmed = text.trim();
    if (trimmed === '') return;
    const value = /^\d+(?:\.\d+)?$/.test(trimmed) ? Number(trimmed) : Number.NaN;
    if (isGood(value)) fields[name] = value;
    else problems[name] = expected;
  };
  read('temperature', form.temperature, (value) => value >= 0 && value < 2, 'From 0 to below 2.');
  read('max_tokens', form.maxTokens, isInteger(1), 'A whole number from 1 on.');
  read('top_p', form.topP, (value) => value > 0 && value <= 1, 'Above 0 and up to 1.');
  read('seed', form.seed, isInteger(0), 'A whole number from 0 on.');
  if (form.responseFormat === 'json_object') fields.response_format = { type: 'json_object' };
  if (form.responseFormat === 'json_schema') {
    const schema = parseObject(form.schema);
    if (schema === null) problems.response_format = 'This is not a JSON object.';
    else fields.response_format = { type: 'json_schema', json_schema: { name: 'answer', schema } };
  }
  return { fields, problems };
}

function isInteger(least: number): (value: number) => boolean {
  return (value) => Number.isInteger(value) && value >= least && value <= largestInteger;
}

export function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Tool definitions as someone writes them, checked by the same rules as the API's. */
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
