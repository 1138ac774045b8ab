/** Chooses the source of decisions from the environment and the active catalogue. */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { readProviderKey, type Secret } from '../models/provider-key.ts';
import type { ActiveCatalog } from '../routing/active-catalog.ts';
import { askChatModel } from './chat-model.ts';
import type { Decider, DecisionSource } from './decider.ts';
import { askProvider } from './provider.ts';
import { type RecordCall, recordCallsIn } from './recorded-calls.ts';
import { patiently } from './retries.ts';

type DecisionSettings = Readonly<{
  baseUrl: string | null;
  model: string | null;
  providerName: string;
  /** The ID of a chat model in the catalogue. It excludes the other settings. */
  chatModel: string | null;
}>;

type Catalogue = Pick<ActiveCatalog, 'catalog' | 'connections' | 'candidates' | 'priceList'>;

type DecisionServices = Readonly<{
  settings: DecisionSettings;
  secret: Secret;
  /** Whether the sandbox may stand in when nothing is configured. */
  isDemo: boolean;
  catalog: () => Catalogue;
  sql: SQL;
  log: Log;
}>;

/** Without a source, the problems tell the operator why. There are none when nothing is configured. */
type Choice = Readonly<{ source: DecisionSource | null; problems: readonly string[] }>;

const sandboxModel = 'sandbox-decision-latest';

/** Chosen again with each catalogue, when secrets are read again too. Null without a source. */
export function openDecisions(services: DecisionServices): () => Decider | null {
  const { catalog, log } = services;
  const make = (active: Catalogue): Decider | null => {
    const { source, problems } = chooseSource(services, active);
    if (problems.length > 0) log.warn('decisions cannot be run', { problems });
    return source === null ? null : patiently(source);
  };
  let active = catalog();
  let decider = make(active);
  return () => {
    if (catalog() === active) return decider;
    active = catalog();
    try {
      decider = make(active);
    } catch (error) {
      // A key that cannot be read now must not replace one that works.
      log.warn('the source of decisions stays as it was', { error });
    }
    return decider;
  };
}

function chooseSource(services: DecisionServices, active: Catalogue): Choice {
  const { settings, secret, isDemo, sql, log } = services;
  const { baseUrl, model, chatModel, providerName } = settings;
  if (chatModel !== null) return chooseChatModel(chatModel, active, recordCallsIn(sql, active, log));
  const { key: apiKey, problem } = readProviderKey('DECISIONS_API_KEY', providerName, secret);
  if (problem !== null) return { source: null, problems: [`${problem.text} ${problem.remedy}`] };
  if (baseUrl === null && model === null && apiKey === null)
    return { source: isDemo ? sandboxOf(active) : null, problems: [] };
  if (baseUrl !== null && model !== null && apiKey !== null)
    return { source: askProvider({ name: providerName, baseUrl, apiKey, model }), problems: [] };
  const variables = { DECISIONS_BASE_URL: baseUrl, DECISIONS_API_KEY: apiKey, DECISIONS_MODEL: model };
  const missing = Object.entries(variables).filter(([, value]) => value === null);
  return { source: null, problems: missing.map(([name]) => `${name} is not set.`) };
}

function chooseChatModel(id: string, { catalog, candidates }: Catalogue, record: RecordCall): Choice {
  const model = catalog.models.get(id);
  const unusable = (why: string): Choice => ({
    source: null,
    problems: [`DECISIONS_CHAT_MODEL names ${JSON.stringify(id)}, ${why}.`],
  });
  if (model === undefined) return unusable('which is not in the catalogue');
  if (!model.enabled || model.workload !== 'chat') return unusable('which is not an enabled chat model');
  if (!model.capabilities.structuredOutput || model.unsupportedParameters.has('response_format'))
    return unusable('which has no structured_output');
  const able = (candidates.get(id) ?? []).filter(
    ({ connection }) => !connection.provider.unsupportedParameters.has('response_format'),
  );
  if (able.length === 0) return unusable('none of whose providers is configured for structured output');
  return { source: askChatModel(model, able, record), problems: [] };
}

/** The sandbox of the catalogue also acts as a decision provider. */
function sandboxOf({ connections }: Catalogue): DecisionSource | null {
  const sandbox = [...connections.values()].find(({ provider }) => provider.adapter === 'sandbox');
  if (sandbox === undefined) return null;
  const { baseUrl, provider } = sandbox;
  return askProvider({ name: provider.name, baseUrl, apiKey: 'sandbox', model: sandboxModel });
}
