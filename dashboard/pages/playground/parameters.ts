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
