/** A first request to a model, in each format that can call it: every chat model can be called in all formats for chat. */
import type { Model } from '../../../src/console/contract.ts';
import {
  curlMessagesOf,
  curlOf,
  pythonImagesOf,
  pythonMessagesOf,
  pythonOf,
  pythonResponsesOf,
  typescriptImagesOf,
  typescriptMessagesOf,
  typescriptOf,
  typescriptResponsesOf,
} from '../../kit/code-samples.ts';

type Format = Readonly<{
  label: string;
  path: string;
  /** The page of the reference. */
  docs: string;
  samples: readonly Readonly<{ label: string; code: string }>[];
}>;

const greeting = 'Say hello in one sentence.';

export function samplesOf(
  { id, endpoint, sizes }: Pick<Model, 'id' | 'endpoint' | 'sizes'>,
  origin: string,
): readonly Format[] {
  if (endpoint === null) return [];
  return endpoint === '/v1/images/generations' ? [imageFormat(id, sizes, origin)] : chatFormats(id, origin);
}

function imageFormat(model: string, [size]: readonly string[], origin: string): Format {
  const request = { model, prompt: 'A gate at dawn', ...(size === undefined ? {} : { size }) };
  const path = '/v1/images/generations';
  return {
    label: 'Images',
    path,
    docs: 'images',
    samples: inLanguages(
      curlOf(origin, request, undefined, path),
      pythonImagesOf(origin, request),
      typescriptImagesOf(origin, request),
    ),
  };
}

function chatFormats(model: string, origin: string): readonly Format[] {
  const messages = [{ role: 'user', content: greeting }];
  const chat = { model, messages };
  const message = { model, max_tokens: 1024, messages };
  const response = { model, input: greeting };
  return [
    {
      label: 'Chat completions',
      path: '/v1/chat/completions',
      docs: 'chat',
      samples: inLanguages(curlOf(origin, chat), pythonOf(origin, chat), typescriptOf(origin, chat)),
    },
    {
      label: 'Messages',
      path: '/v1/messages',
      docs: 'messages',
      samples: inLanguages(
        curlMessagesOf(origin, message),
        pythonMessagesOf(origin, message),
        typescriptMessagesOf(origin, message),
      ),
    },
    {
      label: 'Responses',
      path: '/v1/responses',
      docs: 'responses',
      samples: inLanguages(
        curlOf(origin, response, undefined, '/v1/responses'),
        pythonResponsesOf(origin, response),
        typescriptResponsesOf(origin, response),
      ),
    },
  ];
}

function inLanguages(curl: string, python: string, typescript: string): Format['samples'] {
  return [
    { label: 'curl', code: curl },
    { label: 'Python', code: python },
    { label: 'TypeScript', code: typescript },
  ];
}
