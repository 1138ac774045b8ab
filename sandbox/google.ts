/** The endpoints under /v1beta/models, where the path names the model and the method. */

import { chatEndpoint } from './chat.ts';
import type { ChatRequest } from './chat-request.ts';
import type { Endpoint } from './endpoint.ts';
import { BadRequest } from './errors.ts';
import { googleImages } from './google-images.ts';
import { readGoogleChat } from './google-request.ts';
import { google } from './google-wire.ts';

export function generateContent(model: string): Endpoint<ChatRequest> {
  const endpoint = chatEndpoint(google, (body) => readGoogleChat(body, model, false));
  return { ...endpoint, about: { model, stream: false } };
}

/** Server-Sent Events only; without `alt=sse` Google streams one long array. */
export function streamGenerateContent(model: string, alt: string | null): Endpoint<ChatRequest> {
  const endpoint = chatEndpoint(google, (body) => {
    if (alt !== 'sse') throw new BadRequest('The sandbox streams only with alt=sse.', 'alt');
    return readGoogleChat(body, model, true);
  });
  return { ...endpoint, about: { model, stream: true } };
}

export function predict(model: string): typeof googleImages {
  return { ...googleImages, about: { model, stream: false } };
}
