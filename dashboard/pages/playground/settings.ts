/** The settings of a chat request: as they are typed, and as they are sent. */
import { isObject, type JsonObject, parseJson } from '../../kit/json.ts';

export const responseFormats = [
  { value: 'text', label: 'Text' },
  { value: 'json_object', label: 'JSON object' },
  { value: 'json_schema', label: 'JSON schema' },
] as const;
type ResponseFormat = (typeof responseFormats)[number]['value'];

export type ParameterForm = Readonly<{
  temperature: string;
  maxTokens: string;
  topP: string;
  seed: string;
  responseFormat: ResponseFormat;
  /** Used if the format is `json_schema`. */
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

const maxInteger = 2_147_483_647;

type Parsed = Readonly<{
  fields: Readonly<Record<string, unknown>>;
  problems: Readonly<Partial<Record<ParameterName, string>>>;
}>;

/** Empty settings are left out, so that the model uses its defaults. */
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
  read(
    'temperature',
    form.temperature,
    (value) => value >= 0 && value < 2,
    'Enter a number from 0 to less than 2.',
  );
  read('max_tokens', form.maxTokens, isInteger(1), 'Enter a whole number of at least 1.');
  read('top_p', form.topP, (value) => value > 0 && value <= 1, 'Enter a number above 0, up to 1.');
  read('seed', form.seed, isInteger(0), 'Enter a whole number of at least 0.');
  if (form.responseFormat === 'json_object') fields.response_format = { type: 'json_object' };
  if (form.responseFormat === 'json_schema') {
    const { value: schema } = parseJson(form.schema);
    if (isObject(schema))
      fields.response_format = { type: 'json_schema', json_schema: { name: 'answer', schema } };
    else problems.response_format = 'Enter a JSON object.';
  }
  return { fields, problems };
}

function isInteger(min: number): (value: number) => boolean {
  return (value) => Number.isInteger(value) && value >= min && value <= maxInteger;
}

export type ToolDefinition = JsonObject;

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

/** Checks tool definitions by the rules of the API. Empty text means no tools. */
export function parseTools(
  text: string,
): Readonly<{ tools: readonly ToolDefinition[]; problem: string | null }> {
  if (text.trim() === '') return { tools: [], problem: null };
  const { value, problem: syntaxProblem } = parseJson(text);
  if (syntaxProblem !== null) return invalid(syntaxProblem);
  if (!Array.isArray(value)) return invalid('Enter a JSON array: [ … ].');
  const tools: unknown[] = value;
  const problem = tools.map(problemOfTool).find((found) => found !== null) ?? repeatedName(tools);
  return problem === null ? { tools: tools.filter(isObject), problem: null } : invalid(problem);
}

function invalid(problem: string) {
  return { tools: [], problem };
}

function problemOfTool(tool: unknown, at: number): string | null {
  const place = `Tool ${at + 1}`;
  if (!isObject(tool)) return `${place} must be an object.`;
  const unknown = unknownFieldIn(tool, ['type', 'function']);
  if (unknown !== undefined) return `${place} has an unknown field “${unknown}”.`;
  if (tool.type !== 'function') return `${place} needs "type": "function".`;
  const declared = tool.function;
  if (!isObject(declared)) return `${place} needs a "function" object.`;
  const unknownField = unknownFieldIn(declared, ['name', 'description', 'parameters']);
  if (unknownField !== undefined)
    return `The function of ${place.toLowerCase()} has an unknown field “${unknownField}”.`;
  const { name, description, parameters } = declared;
  if (typeof name !== 'string' || !/^[a-zA-Z0-9_-]{1,64}$/.test(name))
    return `${place} needs a "name" of 1 to 64 letters, digits, underscores or dashes.`;
  if (description !== undefined && typeof description !== 'string')
    return `The "description" of ${name} must be a string.`;
  if (parameters !== undefined && !isObject(parameters))
    return `The "parameters" of ${name} must be a JSON Schema object.`;
  return null;
}

function unknownFieldIn(value: JsonObject, known: readonly string[]): string | undefined {
  return Object.keys(value).find((name) => !known.includes(name));
}

function repeatedName(tools: readonly unknown[]): string | null {
  const names = tools.map((tool) => (tool as { function: { name: string } }).function.name);
  const repeated = names.find((name, at) => names.indexOf(name) !== at);
  return repeated === undefined ? null : `Two tools have the name ${repeated}.`;
}
