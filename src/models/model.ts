/**
 * The catalogue. IDs of models and providers and names of sizes are data, hence maps and never object keys: a model
 * called `__proto__` is a model like any other.
 */
import type { Money } from '../lib/money.ts';
import type { Price } from '../pricing/price.ts';
import type { Timeouts } from '../providers/call.ts';
import type { ReasoningSupport } from '../providers/effort.ts';
import type { EndUserField } from '../providers/end-user.ts';
import type { Dialect } from '../providers/upstream.ts';

export const workloads = ['chat', 'image', 'video'] as const;
export type Workload = (typeof workloads)[number];

export const adapters = ['openai', 'anthropic', 'google', 'sandbox'] as const;
export type Adapter = (typeof adapters)[number];

/** APIs of a provider other than the one that its adapter stands for. */
export const routeApis = ['responses'] as const;
export type RouteApi = (typeof routeApis)[number];

/** Parameters of chat requests that not every model or provider can honour. */
export const optionalParameters = [
  'temperature',
  'top_p',
  'stop',
  'presence_penalty',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'seed',
  'reasoning_effort',
] as const;
export type OptionalParameter = (typeof optionalParameters)[number];

export type Capabilities = Readonly<{
  textInput: boolean;
  imageInput: boolean;
  textOutput: boolean;
  streaming: boolean;
  functionCalling: boolean;
  structuredOutput: boolean;
}>;

/** For an image with low detail, and for any other. */
export type ImageTokens = Readonly<{ low: number; high: number }>;

export type CircuitSettings = Readonly<{ failures: number; openMs: number }>;

/** How far a bill may be off: an amount in USD, and a percentage with up to 12 decimals, as an integer of that scale. */
export type ReportTolerance = Readonly<{ amount: Money; percent: bigint }>;

/** How the provider's bill is read and compared with the metered cost. */
export type CostReport = Readonly<{
  /** The variable that holds the key for the provider's report of costs; null when it is not read. */
  adminKeyEnv: string | null;
  /** Where the report is, if not at the address of the provider. */
  baseUrl: string | null;
  /** What of the bill belongs to this gateway. Empty means all of it. */
  projectIds: readonly string[];
  workspaceIds: readonly string[];
  apiKeyIds: readonly string[];
  /** By a name on the bill, the upstream model that it means. */
  models: ReadonlyMap<string, string>;
  tolerance: ReportTolerance;
}>;

export type Provider = Readonly<{
  id: string;
  name: string;
  adapter: Adapter;
  /** Without a trailing slash. Null only for the adapter `sandbox`, whose server the gateway starts itself. */
  baseUrl: string | null;
  /** The variable that holds the key; null for a server that needs none. */
  apiKeyEnv: string | null;
  timeouts: Timeouts;
  circuit: CircuitSettings;
  /** How this server's variant of OpenAI's format differs. Other adapters ignore it. */
  dialect: Dialect;
  /** What it cannot honour, whichever model is called. */
  unsupportedParameters: ReadonlySet<OptionalParameter>;
  /** Whether calls mark what the provider should write to its cache, where a further turn is likely. */
  promptCache: 'auto' | 'off';
  /** Where it is told, by an opaque ID, whom a call is for; null for a provider that is not told. */
  endUserField: EndUserField | null;
  /** How many calls to it may be in flight at once. */
  maxConcurrency: number;
  /** Whether a call waits until its hold is committed, because the provider bills calls that are cancelled. */
  holdsFirst: boolean;
  costReport: CostReport;
}>;

/** One provider that serves a model, and what that provider calls it. */
export type ModelRoute = Readonly<{
  providerId: string;
  upstreamModel: string;
  /** Which API of the provider serves the model; null for the one that its adapter stands for. */
  api: RouteApi | null;
  /** Null when none is given: as long as no route of a model has one, their order decides. */
  weight: number | null;
  /** What this provider charges the operator, which customers never see. Null when the catalogue does not say. */
  cost: Price | null;
}>;

export type Model = Readonly<{
  id: string;
  name: string;
  ownedBy: string;
  /** Who made the model, for people to read; null means the owner. */
  maker: string | null;
  workload: Workload;
  createdSeconds: number;
  enabled: boolean;
  contextWindow: number | null;
  maxOutputTokens: number | null;
  capabilities: Capabilities;
  /** The most input tokens that one image can cost. */
  imageTokens: ImageTokens;
  /** What the model cannot honour, whoever serves it. */
  unsupportedParameters: ReadonlySet<OptionalParameter>;
  /** Null for a model that does not reason, or of which nobody knows what it can be told. */
  reasoning: ReasoningSupport | null;
  /** Whether it can be told how much to write. */
  takesVerbosity: boolean;
  /** Allowed image sizes and the rate tier of each, null for the plain unit price. Empty for other workloads. */
  sizes: ReadonlyMap<string, string | null>;
  /** How many images one request may ask for. Zero for other workloads. */
  maxImages: number;
  /** Null means that the model cannot be called or listed. */
  price: Price | null;
  /** In order of preference. */
  routes: readonly ModelRoute[];
}>;

export type Catalog = Readonly<{
  priceVersion: string;
  providers: ReadonlyMap<string, Provider>;
  models: ReadonlyMap<string, Model>;
  /** SHA-256 of the price list, to tell whether a label still means the same prices. */
  digest: string;
  /** By name, this catalogue with the prices of a group of accounts. Its price version ends with that name. */
  priceGroups: ReadonlyMap<string, Catalog>;
}>;
