/** Writes a conversation in each vendor's format and reads the answers, independently of the sandbox's code. */

export type Json = Record<string, unknown>;
export type CallMade = { id?: string; name: string; args: unknown };

/** What a test wants to say, in a neutral form. */
export type Turn =
  | { user: string; images?: number }
  | { said?: string; calls: CallMade[] }
  | { results: { id?: string; name: string; result: string }[] };
export type Talk = {
  turns: Turn[];
  system?: string[];
  tools?: { name: string; description?: string; parameters: Json }[];
  force?: string;
  maxTokens?: number;
  stop?: string[];
  schema?: Json;
  model?: string;
};

/** What an answer says, in a neutral form. `input` and `output` are all tokens that were read and written. */
export type Heard = {
  text: string;
  thought: string;
  calls: CallMade[];
  finish: string;
  usage: { input: number; output: number; cached: number; reasoning: number } | null;
};

export type Speaker = {
  name: string;
  key: Record<string, string>;
  path: (talk: Talk, stream: boolean) => string;
  write: (talk: Talk, stream: boolean) => Json;
  hear: (body: unknown) => Heard;
  /** The same from the data of a stream's events. */
  hearAll: (chunks: unknown[]) => Heard;
  finish: Record<'stop' | 'length' | 'tool_calls' | 'content_filter', string>;
  /** Whether this event carries a piece of the answer. */
  isContent: (chunk: Json) => boolean;
  isError: (body: Json) => boolean;
  end: string | null;
};

export const png = 'iVBORw0KGgo=';

export function deep(value: unknown, ...path: (string | number)[]): unknown {
  return path.reduce((inner: unknown, name) => (inner as Json | undefined)?.[name], value);
}
export const list = (value: unknown) => (value ?? []) as Json[];
const joined = (items: Json[], name: string) => items.map((item) => item[name] ?? '').join('');

export const openai: Speaker = {
  name: 'openai',
  key: { authorization: 'Bearer any-key' },
  path: () => '/v1/chat/completions',
  write: (talk, stream) => ({
    model: talk.model ?? 'm',
    messages: [
      ...(talk.system ?? []).map((content) => ({ role: 'system', content })),
      ...talk.turns.flatMap((turn): Json[] => {
        if ('user' in turn) {
          const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } };
          const images = Array.from({ length: turn.images ?? 0 }, () => image);
          return [{ role: 'user', content: [{ type: 'text', text: turn.user }, ...images] }];
        }
        if ('results' in turn) {
          return turn.results.map(({ id, result }) => ({ role: 'tool', tool_call_id: id, content: result }));
        }
        const calls = turn.calls.map(({ id, name, args }) => ({
          id,
          type: 'function',
          function: { name, arguments: JSON.stringify(args) },
        }));
        return [
          { role: 'assistant', content: turn.said ?? null, ...(calls.length && { tool_calls: calls }) },
        ];
      }),
    ],
    tools: talk.tools?.map((tool) => ({ type: 'function', function: tool })),
    tool_choice: talk.force && { type: 'function', function: { name: talk.force } },
    max_tokens: talk.maxTokens,
    stop: talk.stop,
    response_format: talk.schema && { type: 'json_schema', json_schema: { name: 's', schema: talk.schema } },
    ...(stream && { stream, stream_options: { include_usage: true } }),
  }),
  hear: (body) => {
    const message = deep(body, 'choices', 0, 'message') as Json;
    const calls = list(message.tool_calls).map((call) => ({
      name: deep(call, 'function', 'name') as string,
      args: JSON.parse(deep(call, 'function', 'arguments') as string),
    }));
    const text = (message.content ?? '') as string;
    const finish = deep(body, 'choices', 0, 'finish_reason') as string;
    return { text, thought: '', calls, finish, usage: openaiUsage(deep(body, 'usage') as Json) };
  },
  hearAll: (chunks) => {
    const deltas = chunks.map((chunk) => (deep(chunk, 'choices', 0, 'delta') ?? {}) as Json);
    const calls: { name: string; pieces: string }[] = [];
    for (const delta of deltas.flatMap(({ tool_calls }) => list(tool_calls))) {
      const index = delta.index as number;
      const { name, pieces } = calls[index] ?? { name: '', pieces: '' };
      calls[index] = {
        name: name + (deep(delta, 'function', 'name') ?? ''),
        pieces: pieces + (deep(delta, 'function', 'arguments') ?? ''),
      };
    }
    const reasons = chunks.map((chunk) => deep(chunk, 'choices', 0, 'finish_reason')).filter(Boolean);
    return {
      text: joined(deltas, 'content'),
      thought: '',
      calls: calls.map(({ name, pieces }) => ({ name, args: JSON.parse(pieces) })),
      finish: String(reasons),
      usage: openaiUsage(deep(chunks.at(-1), 'usage') as Json),
    };
  },
  finish: {
    stop: 'stop',
    length: 'length',
    tool_calls: 'tool_calls',
    content_filter: 'content_filter',
  },
  isContent: (chunk) => Boolean(deep(chunk, 'choices', 0, 'delta', 'content')),
  isError: (body) => typeof deep(body, 'error', 'type') === 'string',
  end: '[DONE]',
};

function openaiUsage(usage: Json | undefined): Heard['usage'] {
  if (!usage) return null;
  return {
    input: usage.prompt_tokens as number,
    output: usage.completion_tokens as number,
    cached: deep(usage, 'prompt_tokens_details', 'cached_tokens') as number,
    reasoning: deep(usage, 'completion_tokens_details', 'reasoning_tokens') as number,
  };
}

export const anthropic: Speaker = {
  name: 'anthropic',
  key: { 'x-api-key': 'any-key', 'anthropic-version': '2023-06-01' },
  path: () => '/v1/messages',
  write: (talk, stream) => ({
    model: talk.model ?? 'm',
    max_tokens: talk.maxTokens ?? 100_000,
    system: talk.system?.map((text) => ({ type: 'text', text })),
    messages: talk.turns.map((turn) => {
      if ('user' in turn) {
        const source = { type: 'base64', media_type: 'image/png', data: png };
        const images = Array.from({ length: turn.images ?? 0 }, () => ({ type: 'image', source }));
        return { role: 'user', content: [{ type: 'text', text: turn.user }, ...images] };
      }
      if ('results' in turn) {
        const content = turn.results.map(({ id, result }) => ({
          type: 'tool_result',
          tool_use_id: id,
          content: result,
        }));
        return { role: 'user', content };
      }
      const said = turn.said ? [{ type: 'text', text: turn.said }] : [];
      const calls = turn.calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args }));
      return { role: 'assistant', content: [...said, ...calls] };
    }),
    tools: talk.tools?.map(({ parameters, ...tool }) => ({ ...tool, input_schema: parameters })),
    tool_choice: talk.force && { type: 'tool', name: talk.force },
    stop_sequences: talk.stop,
    output_config: talk.schema && { format: { type: 'json_schema', schema: talk.schema } },
    ...(stream && { stream }),
  }),
  hear: (body) => {
    const blocks = list(deep(body, 'content'));
    const ofType = (type: string) => blocks.filter((block) => block.type === type);
    return {
      text: joined(ofType('text'), 'text'),
      thought: joined(ofType('thinking'), 'thinking'),
      calls: ofType('tool_use').map(({ name, input }) => ({ name: name as string, args: input })),
      finish: deep(body, 'stop_reason') as string,
      usage: anthropicUsage(deep(body, 'usage') as Json),
    };
  },
  hearAll: (chunks) => {
    const deltas = chunks.map((chunk) => (deep(chunk, 'delta') ?? {}) as Json);
    const calls: { name: string; pieces: string }[] = [];
    for (const chunk of chunks as Json[]) {
      if (deep(chunk, 'content_block', 'type') === 'tool_use') {
        calls.push({ name: deep(chunk, 'content_block', 'name') as string, pieces: '' });
      }
      const call = calls.at(-1);
      if (call) call.pieces += deep(chunk, 'delta', 'partial_json') ?? '';
    }
    const started = deep(chunks[0], 'message', 'usage') as Json | undefined;
    const ended = chunks.map((chunk) => deep(chunk, 'usage') as Json | undefined).find(Boolean);
    return {
      text: joined(deltas, 'text'),
      thought: joined(deltas, 'thinking'),
      calls: calls.map(({ name, pieces }) => ({ name, args: JSON.parse(pieces) })),
      finish: deltas.map(({ stop_reason }) => stop_reason ?? '').join(''),
      usage: started && ended ? anthropicUsage({ ...started, ...ended }) : null,
    };
  },
  finish: { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use', content_filter: 'refusal' },
  isContent: (chunk) => deep(chunk, 'delta', 'type') === 'text_delta',
  isError: (body) => body.type === 'error' && typeof body.request_id === 'string',
  end: '{"type":"message_stop"}',
};

function anthropicUsage(usage: Json | undefined): Heard['usage'] {
  if (!usage) return null;
  const cached = usage.cache_read_input_tokens as number;
  return {
    input: (usage.input_tokens as number) + cached + (usage.cache_creation_input_tokens as number),
    output: usage.output_tokens as number,
    cached,
    reasoning: (deep(usage, 'output_tokens_details', 'thinking_tokens') ?? 0) as number,
  };
}

export const google: Speaker = {
  name: 'google',
  key: { 'x-goog-api-key': 'any-key' },
  path: ({ model = 'm' }, stream) =>
    `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  write: (talk) => ({
    systemInstruction: talk.system && { parts: talk.system.map((text) => ({ text })) },
    contents: talk.turns.map((turn) => {
      if ('user' in turn) {
        const image = { inlineData: { mimeType: 'image/png', data: png } };
        const images = Array.from({ length: turn.images ?? 0 }, () => image);
        return { role: 'user', parts: [{ text: turn.user }, ...images] };
      }
      if ('results' in turn) {
        const parts = turn.results.map(({ id, name, result }) => ({
          functionResponse: { id, name, response: { output: result } },
        }));
        return { role: 'user', parts };
      }
      const said = turn.said ? [{ text: turn.said }] : [];
      return { role: 'model', parts: [...said, ...turn.calls.map((call) => ({ functionCall: call }))] };
    }),
    tools: talk.tools && [
      { functionDeclarations: talk.tools.map(({ parameters, ...tool }) => ({ ...tool, parameters })) },
    ],
    toolConfig: talk.force && {
      functionCallingConfig: { mode: 'ANY', allowedFunctionNames: [talk.force] },
    },
    generationConfig: {
      maxOutputTokens: talk.maxTokens,
      stopSequences: talk.stop,
      ...(talk.schema && { responseMimeType: 'application/json', responseSchema: talk.schema }),
    },
  }),
  hear: (body) => google.hearAll([body]),
  hearAll: (chunks) => {
    const parts = chunks.flatMap((chunk) => list(deep(chunk, 'candidates', 0, 'content', 'parts')));
    const usage = deep(chunks.at(-1), 'usageMetadata') as Json | undefined;
    const reasoning = (usage?.thoughtsTokenCount ?? 0) as number;
    return {
      text: joined(
        parts.filter(({ thought }) => !thought),
        'text',
      ),
      thought: joined(
        parts.filter(({ thought }) => thought),
        'text',
      ),
      calls: parts
        .flatMap(({ functionCall }) => (functionCall ? [functionCall as CallMade] : []))
        .map(({ name, args }) => ({ name, args })),
      finish: chunks.map((chunk) => deep(chunk, 'candidates', 0, 'finishReason') ?? '').join(''),
      usage: usage
        ? {
            input: usage.promptTokenCount as number,
            output: ((usage.candidatesTokenCount ?? 0) as number) + reasoning,
            cached: (usage.cachedContentTokenCount ?? 0) as number,
            reasoning,
          }
        : null,
    };
  },
  finish: { stop: 'STOP', length: 'MAX_TOKENS', tool_calls: 'STOP', content_filter: 'SAFETY' },
  isContent: (chunk) => Boolean(deep(chunk, 'candidates', 0, 'content', 'parts', 0, 'text')),
  isError: (body) => typeof deep(body, 'error', 'status') === 'string',
  end: null,
};

export const responses: Speaker = {
  name: 'responses',
  key: { authorization: 'Bearer any-key' },
  path: () => '/v1/responses',
  write: (talk, stream) => ({
    model: talk.model ?? 'm',
    input: [
      ...(talk.system ?? []).map((content) => ({ role: 'developer', content })),
      ...talk.turns.flatMap((turn): Json[] => {
        if ('user' in turn) {
          const image = { type: 'input_image', image_url: `data:image/png;base64,${png}`, detail: 'auto' };
          const images = Array.from({ length: turn.images ?? 0 }, () => image);
          return [{ role: 'user', content: [{ type: 'input_text', text: turn.user }, ...images] }];
        }
        if ('results' in turn) {
          return turn.results.map(({ id, result }) => ({
            type: 'function_call_output',
            call_id: id,
            output: result,
          }));
        }
        const said = turn.said ? [{ role: 'assistant', content: turn.said }] : [];
        const calls = turn.calls.map(({ id, name, args }) => ({
          type: 'function_call',
          call_id: id,
          name,
          arguments: JSON.stringify(args),
        }));
        return [...said, ...calls];
      }),
    ],
    tools: talk.tools?.map((tool) => ({ type: 'function', strict: false, ...tool })),
    tool_choice: talk.force && { type: 'function', name: talk.force },
    max_output_tokens: talk.maxTokens,
    text: talk.schema && { format: { type: 'json_schema', name: 's', schema: talk.schema } },
    reasoning: { summary: 'auto' },
    store: false,
    ...(stream && { stream }),
  }),
  hear: (body) => {
    const items = list(deep(body, 'output'));
    const partsOf = (type: string, name: string) =>
      items.filter((item) => item.type === type).flatMap((item) => list(item[name]));
    const reason = deep(body, 'incomplete_details', 'reason');
    return {
      text: joined(partsOf('message', 'content'), 'text'),
      thought: joined(partsOf('reasoning', 'summary'), 'text'),
      calls: items
        .filter(({ type }) => type === 'function_call')
        .map(({ name, arguments: written }) => ({
          name: name as string,
          args: JSON.parse(written as string),
        })),
      finish: `${deep(body, 'status')}${reason ? ` ${reason}` : ''}`,
      usage: responsesUsage(deep(body, 'usage') as Json),
    };
  },
  hearAll: (chunks) => {
    const deltas = (type: string) =>
      joined(
        (chunks as Json[]).filter((chunk) => chunk.type === type),
        'delta',
      );
    const last = (chunks as Json[]).find(({ type }) => /completed|incomplete/.test(String(type)));
    const done = (chunks as Json[]).filter(({ type }) => type === 'response.output_item.done');
    const heard = responses.hear({ ...(last?.response as Json), output: done.map(({ item }) => item) });
    return {
      ...heard,
      finish: last === undefined ? '' : heard.finish,
      text: deltas('response.output_text.delta'),
      thought: deltas('response.reasoning_summary_text.delta'),
    };
  },
  finish: {
    stop: 'completed',
    length: 'incomplete max_output_tokens',
    tool_calls: 'completed',
    content_filter: 'incomplete content_filter',
  },
  isContent: (chunk) => chunk.type === 'response.output_text.delta',
  isError: (body) => body.type === 'error' || typeof deep(body, 'error', 'type') === 'string',
  end: null,
};

function responsesUsage(usage: Json | null | undefined): Heard['usage'] {
  if (!usage) return null;
  return {
    input: usage.input_tokens as number,
    output: usage.output_tokens as number,
    cached: (deep(usage, 'input_tokens_details', 'cached_tokens') ?? 0) as number,
    reasoning: (deep(usage, 'output_tokens_details', 'reasoning_tokens') ?? 0) as number,
  };
}

export const saying = (user: string): Talk => ({ turns: [{ user }] });

/** Two tools, the arguments that the sandbox makes up for them, and a conversation in which both were called. */
export const parameters = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city'],
};
export const tools = [
  { name: 'weather', description: 'Looks outside', parameters },
  { name: 'time', parameters },
];
export const args = { city: 'sample', days: 1 };
export const results: Turn[] = [
  { user: '[[tools 2]]' },
  {
    calls: [
      { id: 'a', name: 'weather', args },
      { id: 'b', name: 'time', args: {} },
    ],
  },
  {
    results: [
      { id: 'a', name: 'weather', result: '21 degrees' },
      { id: 'b', name: 'time', result: '{"hour":7}' },
    ],
  },
];
