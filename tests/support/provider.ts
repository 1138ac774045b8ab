import type { Capabilities, CostReport, Model, Provider } from '../../src/models/model.ts';
import type { ChatCall } from '../../src/providers/chat.ts';
import { defaultDialect } from '../../src/providers/upstream.ts';

/** A call that asks for nothing. */
export const emptyCall: ChatCall = {
  messages: [],
  temperature: null,
  maxTokens: null,
  topP: null,
  stop: null,
  presencePenalty: null,
  tools: null,
  toolChoice: null,
  parallelToolCalls: null,
  responseFormat: null,
  seed: null,
  effort: null,
  verbosity: null,
};

/** What the catalogue fills in. */
export const noCostReport: CostReport = {
  adminKeyEnv: null,
  baseUrl: null,
  projectIds: [],
  workspaceIds: [],
  apiKeyIds: [],
  models: new Map(),
  tolerance: { amount: 10_000_000_000n, percent: 100_000_000_000n },
};

/** A provider as the catalogue would describe it. */
export function testProvider(changes: Partial<Provider> = {}): Provider {
  return {
    id: 'p',
    name: 'P',
    adapter: 'openai',
    baseUrl: 'http://127.0.0.1:9/v1',
    apiKeyEnv: null,
    timeouts: { connectMs: 1_000, firstByteMs: 5_000, idleMs: 5_000, totalMs: 5_000 },
    circuit: { failures: 2, openMs: 60_000 },
    dialect: defaultDialect,
    unsupportedParameters: new Set(),
    promptCache: 'off',
    endUserField: null,
    holdsFirst: false,
    maxConcurrency: 10,
    costReport: noCostReport,
    ...changes,
  };
}

export const capable: Capabilities = {
  textInput: true,
  imageInput: true,
  textOutput: true,
  streaming: true,
  functionCalling: true,
  structuredOutput: true,
};

/** A chat model that can do everything. */
export function testModel(fields: Partial<Model> = {}): Model {
  return {
    id: 'm',
    name: 'M',
    ownedBy: 'o',
    maker: null,
    workload: 'chat',
    createdSeconds: 0,
    enabled: true,
    contextWindow: null,
    maxOutputTokens: null,
    capabilities: capable,
    imageTokens: { low: 100, high: 2_000 },
    unsupportedParameters: new Set(),
    reasoning: null,
    takesVerbosity: false,
    sizes: new Map(),
    maxImages: 0,
    price: null,
    routes: [],
    ...fields,
  };
}
