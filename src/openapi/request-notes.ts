/**
 * What the fields of request bodies mean. Their shapes come from the schemas that check requests. A test compares the
 * names.
 */
const functionTypeNote = 'Always `function`.';

/** What SDKs add to the messages that they return. */
const nullNote = 'Null, which means absent: anything else is rejected.';
const sdkNotes = {
  refusal: nullNote,
  annotations: nullNote,
  audio: nullNote,
  function_call: nullNote,
  parsed: nullNote,
};

/** What both endpoints for messages read. */
const messagesNotes = {
  model: 'The ID of a callable chat model, as `GET /v1/models` lists it.',
  messages: 'The conversation so far, oldest first. Each call of a tool is answered in the next message.',
  system: 'Instructions to the model.',
  tools: 'Tools that the model may ask the client to run. Those that run at a provider are refused.',
  tool_choice: 'Whether the model may, must or must not call tools, or which one.',
  thinking: 'Whether the model thinks before it answers, and how much of that is shown.',
  output_config: 'How much effort to make, and the JSON Schema of the answer.',
  cache_control: 'Up to where a provider should write the conversation to its cache.',
};

/** For each named part of a body: the sentence about it, and one for each of its fields. */
export const requestNotes: Readonly<
  Record<string, Readonly<{ about: string; fields: Readonly<Record<string, string>> }>>
> = {
  ChatCompletionRequest: {
    about: 'A conversation to continue. Any other field is rejected with `unsupported_parameter`.',
    fields: {
      model: 'The ID of a callable chat model, as `GET /v1/models` lists it.',
      messages: 'The conversation so far, oldest first.',
      stream: 'Respond with Server-Sent Events.',
      temperature: 'Higher is more varied.',
      max_tokens: 'The most the model may write, reasoning included. A lower limit holds less money.',
      top_p: 'The share of the likeliest tokens to choose from.',
      stop: 'One string or up to 4, any of which ends the answer.',
      presence_penalty: 'Higher makes new topics likelier.',
      tools: 'Functions that the model may ask the client to run. An empty list is the same as none.',
      tool_choice: '`auto`, `none`, or one of the declared functions; `required` is not supported.',
      parallel_tool_calls: '`false` asks for one call at a time. `true` needs `tools`.',
      response_format: 'Free text, any JSON, or JSON of a given shape.',
      seed: 'The same seed asks for the same answer, as far as the provider supports it.',
      stream_options: 'Only with `"stream": true`.',
    },
  },
  SystemMessage: {
    about: 'Instructions to the model.',
    fields: {
      role: 'Always `system`.',
      content: 'The instructions.',
      name: nullNote,
      tool_calls: nullNote,
      ...sdkNotes,
    },
  },
  UserMessage: {
    about: 'What the user says or shows.',
    fields: {
      role: 'Always `user`.',
      content: 'Text, or a list of texts and images.',
      name: nullNote,
      tool_calls: nullNote,
      ...sdkNotes,
    },
  },
  AssistantMessage: {
    about: 'An earlier answer from the model.',
    fields: {
      role: 'Always `assistant`.',
      content: 'Its text. May be null or missing only when there are `tool_calls`.',
      tool_calls: 'The calls it asked for, each with its own ID. Null means none.',
      name: nullNote,
      ...sdkNotes,
    },
  },
  ToolMessage: {
    about: 'The result of one call.',
    fields: {
      role: 'Always `tool`.',
      tool_call_id: 'The ID of a call in an earlier assistant message.',
      content: 'The result as text.',
      name: 'The name of the function.',
      tool_calls: nullNote,
      ...sdkNotes,
    },
  },
  TextPart: { about: 'A piece of text.', fields: { type: 'Always `text`.', text: 'The text.' } },
  ImagePart: {
    about: 'An image, for models with the capability `image_input`.',
    fields: {
      type: 'Always `image_url`.',
      image_url:
        'An `https://` URL without credentials, or `data:image/…;base64,…`. It is passed on; the gateway never fetches it.',
    },
  },
  ToolCallMade: {
    about: 'A call as the model asked for it.',
    fields: {
      id: 'The ID, unchanged.',
      type: functionTypeNote,
      index: 'Its place in the stream that it came from. It is dropped.',
      function: 'Its name and arguments, unchanged. `parsed_arguments`, which SDKs add, is dropped.',
    },
  },
  Tool: {
    about: 'A function that the model may ask for.',
    fields: {
      type: functionTypeNote,
      function:
        'Its name, what it does, a JSON Schema of its `parameters`, and `strict`: whether calls must match that schema. ' +
        'Where no provider of the model can promise that, `true` is rejected.',
    },
  },
  NamedToolChoice: {
    about: 'Asks for a call to one declared function.',
    fields: { type: functionTypeNote, function: 'The function’s name.' },
  },
  TextFormat: { about: 'Free text, which is the default.', fields: { type: 'Always `text`.' } },
  JsonFormat: { about: 'JSON of any shape.', fields: { type: 'Always `json_object`.' } },
  JsonSchemaFormat: {
    about: 'JSON of a given shape, for models with the capability `structured_output`.',
    fields: { type: 'Always `json_schema`.', json_schema: 'A name and the JSON Schema.' },
  },
  ResponsesRequest: {
    about:
      'A conversation to continue. Other fields are passed on to providers that speak this format, and rejected with ' +
      '`unsupported_parameter` otherwise.',
    fields: {
      model: 'The ID of a callable chat model, as `GET /v1/models` lists it.',
      input: 'A question, or the items of the conversation so far, oldest first.',
      instructions: 'A system message in front of `input`.',
      stream: 'Respond with Server-Sent Events.',
      stream_options: 'Without effect.',
      max_output_tokens:
        'The most the model may write, reasoning included. It may be lowered to what the model can write and the balance covers.',
      temperature: 'Higher is more varied.',
      top_p: 'The share of the likeliest tokens to choose from.',
      tools: 'Functions, free-form tools and namespaces of them. Built-in tools are rejected by their type.',
      tool_choice: '`auto`, `none`, `required`, one of the tools, or `allowed_tools`.',
      parallel_tool_calls: '`false` asks for one call at a time.',
      text: 'The format of the answer, and how long-winded it should be.',
      reasoning: 'How much to think, and whether to show a summary of it.',
      include: 'Only `reasoning.encrypted_content`, with which reasoning can be sent back.',
      store: 'Without effect: nothing is stored, and the response says `false`.',
      metadata: 'Up to 16 pairs, repeated in the response.',
      prompt_cache_key: 'The session that the request belongs to. Providers get a key of our own instead.',
      safety_identifier: 'Who the request is for.',
      user: 'Who the request is for, by its old name.',
      service_tier: 'Only `auto` and `default`.',
      truncation: 'Only `disabled`.',
      top_logprobs: 'Only 0.',
      background: 'Only `false`.',
      client_metadata: 'Without effect.',
    },
  },
  MessagesRequest: {
    about: 'A conversation to continue. Other fields are for providers that speak the same format.',
    fields: {
      ...messagesNotes,
      max_tokens:
        'The most the model may write, thinking included. It is lowered where the balance demands it.',
      stream: 'Respond with Server-Sent Events.',
      stop_sequences: 'Strings, any of which ends the answer.',
      temperature: 'Higher is more varied. Not in the version 2026-10-21.',
      top_p: 'The share of the likeliest tokens to choose from. Not in the version 2026-10-21.',
      top_k: 'How many of the likeliest tokens to choose from. Not in the version 2026-10-21.',
      metadata: 'Who the request is for. It does not leave the gateway.',
    },
  },
  CountTokensRequest: {
    about: 'A conversation whose tokens are counted.',
    fields: messagesNotes,
  },
  ImageRequest: {
    about: 'Images to make. Any other field is rejected with `unsupported_parameter`.',
    fields: {
      model: 'The ID of a callable image model, as `GET /v1/models` lists it.',
      prompt: 'What the images should show.',
      size: 'WIDTHxHEIGHT, one of the sizes that the model offers. Its first one when left out.',
      n: 'How many images; 1 when left out.',
      response_format: 'Only `url`, which is also the default.',
    },
  },
};
