/** The public API as one OpenAPI document, made from the schemas that the gateway checks requests and responses with. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiErrorCodes } from '../errors.ts';
import { rootFolder } from '../lib/root-folder.ts';
import { createChatCompletion } from './endpoints/chat.ts';
import type { Endpoint } from './endpoints/endpoint.ts';
import { getGeneration, listGenerations } from './endpoints/generations.ts';
import { createImages } from './endpoints/images.ts';
import { getKey } from './endpoints/key.ts';
import { countMessageTokens, createMessage } from './endpoints/messages.ts';
import { getModel, listModels } from './endpoints/models.ts';
import { countInputTokens, createResponse } from './endpoints/responses.ts';
import { listUsage } from './endpoints/usage.ts';
import { introduction } from './introduction.ts';
import { componentsOf, referenceTo } from './json-schema.ts';
import { requestComponents } from './requests.ts';
import { headerComponents, presentRow, responsesOf } from './responses.ts';
import { errorEventSchema, errorSchema } from './schemas/errors.ts';
import { anyMessagesErrorSchema } from './schemas/messages.ts';

const packageFile = join(rootFolder, 'package.json');
const { version, license } = JSON.parse(readFileSync(packageFile, 'utf8')) as {
  version: string;
  license: string;
};

const tags = [
  { name: 'Models', description: 'What can be called, and what it costs.' },
  { name: 'Chat', description: 'Conversations with tools, images and streams.' },
  { name: 'Messages', description: 'The same conversations, for clients of Anthropic’s API.' },
  { name: 'Images', description: 'Images from a prompt.' },
  { name: 'Generations', description: 'What became of each request, without its content.' },
  { name: 'Usage', description: 'What was billed to the account.' },
  { name: 'Keys', description: 'What a key may do and has left.' },
];

export type OpenApiDocument = ReturnType<typeof createDocument>;

export function createDocument() {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tollgate',
      version,
      summary: 'A metered gateway for model inference.',
      description: introduction,
      license: { name: license, identifier: license },
    },
    servers: [{ url: '/', description: 'This gateway' }],
    security: [{ apiKey: [] }],
    tags,
    paths: pathsOf(endpoints),
    components: {
      schemas: { ...requestComponents(), ...responseComponents() },
      headers: headerComponents,
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'svc_sk_…',
          description: 'An API key, created in the dashboard or with `tollgate key create`.',
        },
      },
    },
    'x-errors': apiErrorCodes.map(presentRow),
  };
}

function responseComponents() {
  const schemas = endpoints.flatMap(({ response, events }) => [
    response.schema,
    ...(events === null ? [] : [events.schema]),
  ]);
  return componentsOf([...schemas, errorSchema, errorEventSchema, anyMessagesErrorSchema], 'output');
}

function pathsOf(all: readonly Endpoint[]) {
  const paths: Record<string, Record<string, ReturnType<typeof operationOf>>> = {};
  for (const endpoint of all) {
    const path = paths[endpoint.path] ?? {};
    paths[endpoint.path] = path;
    path[endpoint.method] = operationOf(endpoint);
  }
  return paths;
}

function operationOf(endpoint: Endpoint) {
  const { operationId, tag, summary, description, parameters, body } = endpoint;
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === null
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: referenceTo(body.schema), examples: body.examples } },
          },
        }),
    responses: responsesOf(endpoint),
  };
}

export const endpoints: readonly Endpoint[] = [
  listModels,
  getModel,
  createChatCompletion,
  createResponse,
  countInputTokens,
  createMessage,
  countMessageTokens,
  createImages,
  listGenerations,
  getGeneration,
  listUsage,
  getKey,
];
