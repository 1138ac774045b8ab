/** Parses a generateContent request as strictly as Google does. Documented at ai.google.dev/api/generate-content. */

import type { ChatRequest, Tool } from './chat-request.ts';
import { BadRequest } from './errors.ts';
import {
  type Fields,
  readArray,
  readBody,
  readObject,
  readOptionalString,
  readString,
  rejectUnknown,
} from './fields.ts';
import { readContents, readSystemInstruction } from './google-contents.ts';
import { readSchema } from './google-schema.ts';

const knownFields = new Set([
  'cachedContent',
  'contents',
  'generationConfig',
  'safetySettings',
  'systemInstruction',
  'toolConfig',
  'tools',
]);
const configFields = new Set([
  '_responseJsonSchema',
  'candidateCount',
  'enableEnhancedCivicAnswers',
  'frequencyPenalty',
  'imageConfig',
  'logprobs',
  'maxOutputTokens',
  'mediaResolution',
  'presencePenalty',
  'responseJsonSchema',
  'responseLogprobs',
  'responseMimeType',
  'responseModalities',
  'responseSchema',
  'seed',
  'speechConfig',
  'stopSequences',
  'temperature',
  'thinkingConfig',
  'topK',
  'topP',
]);
const toolFields = new Set(['functionDeclarations']);
const declarationFields = new Set([
  'behavior',
  'description',
  'name',
  'parameters',
  'parametersJsonSchema',
  'response',
  'responseJsonSchema',
]);
const maxStopSequences = 5;

export function readGoogleChat(body: unknown, model: string, stream: boolean): ChatRequest {
  const fields = readBody(body, knownFields);
  const tools = fields.tools === undefined ? [] : readArray(fields.tools, 'tools').flatMap(readTool);
  return {
    model,
    messages: [...readSystemInstruction(fields.systemInstruction), ...readContents(fields.contents, model)],
    stream,
    stream_options: { include_usage: stream },
    tools,
    tool_choice: readToolConfig(fields.toolConfig),
    ...readConfig(fields.generationConfig),
  };
}

function readConfig(value: unknown): Pick<ChatRequest, 'max_tokens' | 'stop' | 'response_format'> {
  if (value === undefined) return {};
  const path = 'generationConfig';
  const config = readObject(value, path);
  rejectUnknown(config, configFields, path);
  const { maxOutputTokens: maxTokens, stopSequences, temperature } = config;
  if (maxTokens !== undefined && !(Number.isInteger(maxTokens) && Number(maxTokens) > 0)) {
    throw new BadRequest('Expected an integer of at least 1.', `${path}.maxOutputTokens`);
  }
  if (
    temperature !== undefined &&
    !(typeof temperature === 'number' && temperature >= 0 && temperature <= 2)
  ) {
    throw new BadRequest('Expected a number from 0 to 2.', `${path}.temperature`);
  }
  if (config.thinkingConfig !== undefined) checkThinking(config.thinkingConfig, `${path}.thinkingConfig`);
  const stop = stopSequences === undefined ? [] : readArray(stopSequences, `${path}.stopSequences`);
  if (stop.length > maxStopSequences) {
    throw new BadRequest(`At most ${maxStopSequences} are allowed.`, `${path}.stopSequences`);
  }
  return {
    max_tokens: typeof maxTokens === 'number' ? maxTokens : null,
    stop: stop.map((word) => readString(word, `${path}.stopSequences`)),
    response_format: readFormat(config, path),
  };
}

const thinkingFields = new Set(['includeThoughts', 'thinkingBudget', 'thinkingLevel']);

function checkThinking(value: unknown, path: string): void {
  const config = readObject(value, path);
  rejectUnknown(config, thinkingFields, path);
  const { thinkingBudget: budget, thinkingLevel: level } = config;
  if (budget !== undefined && level !== undefined)
    throw new BadRequest('A level excludes a budget.', `${path}.thinkingLevel`);
  if (budget !== undefined && !(Number.isInteger(budget) && Number(budget) >= -1))
    throw new BadRequest('Expected a number of tokens, or -1.', `${path}.thinkingBudget`);
  if (level !== undefined && !/^(minimal|low|medium|high)$/i.test(readString(level, `${path}.thinkingLevel`)))
    throw new BadRequest('Unknown level.', `${path}.thinkingLevel`);
}

function readFormat(config: Fields, path: string): NonNullable<ChatRequest['response_format']> | null {
  const { responseMimeType, responseSchema } = config;
  const jsonSchema = config.responseJsonSchema ?? config._responseJsonSchema;
  const isJson = responseMimeType === 'application/json';
  if (responseSchema === undefined && jsonSchema === undefined) {
    return isJson ? { type: 'json_object' } : null;
  }
  if (!isJson) throw new BadRequest('A schema requires application/json.', `${path}.responseMimeType`);
  if (responseSchema !== undefined && jsonSchema !== undefined) {
    throw new BadRequest('One kind of schema excludes the other.', `${path}.responseSchema`);
  }
  const schema = jsonSchema ?? readSchema(responseSchema, `${path}.responseSchema`);
  return { type: 'json_schema', json_schema: { schema } };
}

function readTool(value: unknown, index: number): readonly Tool[] {
  const path = `tools[${index}]`;
  const tool = readObject(value, path);
  rejectUnknown(tool, toolFields, path);
  const declarations = readArray(tool.functionDeclarations, `${path}.functionDeclarations`);
  return declarations.map((one, place) => readDeclaration(one, `${path}.functionDeclarations[${place}]`));
}

function readDeclaration(value: unknown, path: string): Tool {
  const declaration = readObject(value, path);
  rejectUnknown(declaration, declarationFields, path);
  const { description, parameters, parametersJsonSchema } = declaration;
  if (parameters !== undefined && parametersJsonSchema !== undefined) {
    throw new BadRequest('One kind of schema excludes the other.', `${path}.parameters`);
  }
  const schema =
    parameters === undefined ? parametersJsonSchema : readSchema(parameters, `${path}.parameters`);
  const name = readString(declaration.name, `${path}.name`);
  if (!/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(name)) {
    throw new BadRequest('The name is too long or has invalid characters.', `${path}.name`);
  }
  const text = readOptionalString(description, `${path}.description`);
  const described = { name, description: text, parameters: schema };
  return { type: 'function', function: described };
}

function readToolConfig(value: unknown): NonNullable<ChatRequest['tool_choice']> | null {
  if (value === undefined) return null;
  const path = 'toolConfig.functionCallingConfig';
  const { functionCallingConfig: config } = readObject(value, 'toolConfig');
  if (config === undefined) return null;
  const { mode = 'AUTO', allowedFunctionNames: allowed } = readObject(config, path);
  const names = allowed === undefined ? [] : readArray(allowed, `${path}.allowedFunctionNames`);
  if (names.length > 0 && mode !== 'ANY' && mode !== 'VALIDATED') {
    throw new BadRequest('It requires the mode ANY.', `${path}.allowedFunctionNames`);
  }
  if (mode === 'NONE') return 'none';
  if (mode === 'AUTO' || mode === 'VALIDATED') return 'auto';
  if (mode !== 'ANY') throw new BadRequest('Unknown mode.', `${path}.mode`);
  if (names.length === 0) return 'required';
  const name = readString(names[0], `${path}.allowedFunctionNames[0]`);
  return { type: 'function', function: { name } };
}
