/** Chooses the source of decisions from the environment and the catalogue in force. */
import type { Log } from '../lib/log.ts';
import type { ActiveCatalog } from '../routing/active-catalog.ts';
import { askChatModel } from './chat-model.ts';
import type { Decider, DecisionSource } from './decider.ts';
import { askProvider } from './provider.ts';
import { patiently } from './retries.ts';

/** Settings from the environment. Null stands for what is not set. */
type DecisionSettings = Readonly<{
  baseUrl: string | null;
  model: string | null;
  providerName: string;
  /** The ID of a chat model of the catalogue. Set together with none of the others. */
  chatModel: string | null;
}>;

type Catalogue = Pick<ActiveCatalog, 'catalog' | 'connections' | 'candidates'>;

type Surroundings = Readonly<{
  settings: DecisionSettings;
  secret: (name: string) => string | null;
  /** Whether this is a first look at the gateway, with everything of its own. */
  isDemo: boolean;
  catalog: () => Catalogue;
  log: Log;
}>;

/** Without a source, the reason for the operator; none when nothing was asked for. */
type Choice = Readonly<{ source: DecisionSource | null; problems: readonly string[] }>;

const sandboxModel = 'sandbox-decision-latest';

/** Chosen again with each catalogue, which is also when secrets are read again. Null when there is no source. */
export function openDecisions(surroundings: Surroundings): () => Decider | null {
  const { catalog, log } = surroundings;
  const make = (active: Catalogue): Decider | null => {
    const { source, problems } = chooseSource(surroundings, active);
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
      // A key that cannot be read at the moment must not take away the one that works.
      log.warn('decisions stay as they were', { error });
    }
    return decider;
  };
}

function chooseSource({ settings, secret, isDemo }: Surroundings, active: Catalogue): Choice {
  const { baseUrl, model, chatModel, providerName } = settings;
  if (chatModel !== null) return chooseChatModel(chatModel, active);
  const apiKey = secret('DECISIONS_API_KEY');
  if (baseUrl === null && model === null && apiKey === null)
    return { source: isDemo ? sandboxOf(active) : null, problems: [] };
  if (baseUrl !== null && model !== null && apiKey !== null)
    return { source: askProvider({ name: providerName, baseUrl, apiKey, model }), problems: [] };
  const variables = { DECISIONS_BASE_URL: baseUrl, DECISIONS_API_KEY: apiKey, DECISIONS_MODEL: model };
  const missing = Object.entries(variables).filter(([, value]) => value === null);
  return { source: null, problems: missing.map(([name]) => `${name} is not set.`) };
}

function chooseChatModel(id: string, { catalog, candidates }: Catalogue): Choice {
  const model = catalog.models.get(id);
  const refuse = (why: string): Choice => ({
    source: null,
    problems: [`DECISIONS_CHAT_MODEL names ${JSON.stringify(id)}, ${why}.`],
  });
  if (model === undefined) return refuse('which is not in the catalogue');
  if (!model.enabled || model.workload !== 'chat') return refuse('which is no enabled chat model');
  if (!model.capabilities.structuredOutput || model.unsupportedParameters.has('response_format'))
    return refuse('which has no structured_output');
  const able = (candidates.get(id) ?? []).filter(
    ({ connection }) => !connection.provider.unsupportedParameters.has('response_format'),
  );
  if (able.length === 0) return refuse('none of whose providers is configured for structured output');
  return { source: askChatModel(model, able), problems: [] };
}

/** The sandbox that the catalogue already has running plays a decision provider too. */
function sandboxOf({ connections }: Catalogue): DecisionSource | null {
  const sandbox = [...connections.values()].find(({ provider }) => provider.adapter === 'sandbox');
  if (sandbox === undefined) return null;
  const { baseUrl, provider } = sandbox;
  return askProvider({ name: provider.name, baseUrl, apiKey: 'sandbox', model: sandboxModel });
}
