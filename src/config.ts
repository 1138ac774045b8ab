/** The only reader of the environment. Anything missing or wrong is reported at startup, with the name of the variable. */
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { urlsOfHosts } from './lib/database-url.ts';
import {
  type Environment,
  readChoice,
  readHeaders,
  readInteger,
  readList,
  readNetworks,
  readSecret,
} from './lib/environment.ts';
import type { IpNetwork } from './lib/ip-address.ts';
import { type LogLevel, logLevels } from './lib/log.ts';
import { type Money, parseMoney } from './lib/money.ts';
import { OperatorError } from './lib/operator-error.ts';

const minSecret = 32;

/** The PostgreSQL settings without which a committed charge can be lost. */
export const durabilitySettings = ['fsync', 'full_page_writes', 'synchronous_commit'] as const;
type DurabilitySetting = (typeof durabilitySettings)[number];

/**
 * Parameters beyond the contract that chat completions can serve. Others that clients send, such as n and logprobs, cannot
 * be honoured and have no name here.
 */
const chatExtensions = [
  'max_completion_tokens',
  'reasoning_effort',
  'user',
  'tool_choice_required',
  'developer',
] as const;
type ChatExtension = (typeof chatExtensions)[number];

const proxyVariables = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'];

/** How a gateway stops: how long it still serves everyone, and how long requests may take in all, from the signal on. */
type DrainSettings = Readonly<{ delaySeconds: number; seconds: number }>;

type MetricsSettings = Readonly<{
  isOn: boolean;
  /** Where the metrics are served without a token; null for nowhere. */
  port: number | null;
  /** Opens /metrics on the gateway's own port to those who present it. */
  token: string | null;
}>;

type ProcessSettings = Readonly<{
  /** How many processes serve requests. */
  workers: number;
  /** Which of them this process is, from 1; null when it is none, or the only one. Set by their parent. */
  worker: number | null;
  drain: DrainSettings;
  metrics: MetricsSettings;
}>;

export type Config = ProcessSettings &
  Readonly<{
    port: number;
    host: string;
    /** May name several hosts, of which one accepts writes. Null means the embedded PostgreSQL inside the data folder. */
    databaseUrl: string | null;
    /** For lasting sessions, when the database above is behind a transaction pooler. */
    databaseDirectUrl: string | null;
    /** A replica for lists and reports. */
    databaseReadUrl: string | null;
    /** How many connections requests share. They are opened when needed. */
    databasePool: number;
    /** Whether the gateway migrates its database at the start. */
    migratesAtStart: boolean;
    /** Durability settings that the operator allows to be off. */
    allowedUnsafeSettings: ReadonlySet<DurabilitySetting>;
    dataFolder: string;
    catalogFile: string;
    publicUrl: string | null;
    /** Signs and encrypts; null means that the gateway generates one. */
    authSecret: string | null;
    /** Whether anyone may sign up. */
    isSignUpOpen: boolean;
    /** What those who sign up get to begin with; null for nothing. */
    welcomeGrant: WelcomeGrantSettings | null;
    /** Null when the gateway cannot send mail. */
    mail: MailSettings | null;
    /** Null when nothing can be paid here. */
    payments: PaymentSettings | null;
    /** Whom customers ask for credit, as a mailto: or https: URL; null when the operator has not said. */
    operatorContact: string | null;
    /** Whose X-Forwarded-For header is believed. */
    trustedProxies: readonly IpNetwork[];
    /** Where customers' webhooks may be besides the public internet. */
    webhookNetworks: readonly IpNetwork[];
    /** How long Generations are kept; null means forever. */
    generationRetentionDays: number | null;
    /** How long it is known why a request was refused. */
    refusalRetentionDays: number;
    /** What chat completions take beyond the contract. */
    chatExtensions: ReadonlySet<ChatExtension>;
    /** Whether a provider may be called while the hold of its request is still being committed. */
    callsEarly: boolean;
    /** How many bytes of request bodies may be in memory at a time; a quarter of it per account. */
    bodyBudgetBytes: number;
    /** The source of decisions. Null means not set. */
    decisions: Readonly<{
      baseUrl: string | null;
      model: string | null;
      providerName: string;
      /** A chat model of the catalogue, used instead of a decision provider. */
      chatModel: string | null;
    }>;
    logLevel: LogLevel;
    /** Where traces are sent; null when there are none. */
    traces: TraceSettings | null;
    /** Whether calls to providers go through a proxy that the environment names. */
    isProxied: boolean;
    /** Where to report vulnerabilities, as a mailto: or https: URL; null when nowhere. */
    securityContact: string | null;
    /** Who called the command line with sudo; null when nobody did. */
    sudoUser: string | null;
    /** Reads a secret such as a provider key: from NAME, else from the file that NAME_FILE names. */
    secret: (name: string) => string | null;
  }>;

/** `endpoint` is the address of an OpenTelemetry collector. The headers may hold a secret. */
export type TraceSettings = Readonly<{
  endpoint: string;
  headers: Readonly<Record<string, string>>;
  serviceName: string;
}>;

export type PaymentSettings = Readonly<{
  secretKey: string;
  /** Two while one replaces the other. */
  webhookSecrets: readonly string[];
  /** Whether the key moves real money. */
  isLive: boolean;
  /** Null for Stripe's own address. */
  apiUrl: string | null;
  hasTax: boolean;
  suspendsDisputed: boolean;
  /** Where people return to after they have paid. */
  origin: string;
}>;

/** `days` is how long the credit can be used; null means forever. */
type WelcomeGrantSettings = Readonly<{
  amount: Money;
  days: number | null;
  maxPerNetworkAndDay: number;
  maxPerDay: number;
}>;

/** `url` may contain a password. Links in mails lead to `origin`, never to the Host of a request. */
export type MailSettings = Readonly<{ url: string; from: string; origin: string }>;

export function readConfig(environment: Environment = process.env): Config {
  return {
    port: readInteger(environment, 'PORT', 8080, 0, 65_535),
    host: environment.HOST || '127.0.0.1',
    ...readProcesses(environment),
    ...readDatabase(environment),
    databasePool: readInteger(environment, 'DATABASE_POOL', 10, 1, 1_000),
    migratesAtStart: readChoice(environment, 'MIGRATE', 'on', ['on', 'off']) === 'on',
    allowedUnsafeSettings: new Set(readList(environment, 'TOLLGATE_ALLOW_UNSAFE', durabilitySettings)),
    dataFolder: resolve(environment.TOLLGATE_DATA || '.tollgate'),
    catalogFile: resolve(environment.TOLLGATE_CATALOG || 'catalog.yaml'),
    publicUrl: readPublicUrl(environment),
    authSecret: readAuthSecret(environment),
    isSignUpOpen: readChoice(environment, 'SIGN_UP', 'closed', ['open', 'closed']) === 'open',
    welcomeGrant: readWelcomeGrant(environment),
    mail: readMail(environment),
    payments: readPayments(environment),
    operatorContact: readContact(environment, 'OPERATOR_CONTACT'),
    trustedProxies: readNetworks(environment, 'TRUSTED_PROXIES'),
    webhookNetworks: readNetworks(environment, 'WEBHOOK_NETWORKS'),
    generationRetentionDays: readRetention(environment),
    refusalRetentionDays: readInteger(environment, 'REFUSAL_RETENTION_DAYS', 7, 1, 36_500),
    chatExtensions: new Set(readList(environment, 'CHAT_EXTENSIONS', chatExtensions)),
    callsEarly: readChoice(environment, 'EARLY_CALLS', 'on', ['on', 'off']) === 'on',
    bodyBudgetBytes: readInteger(environment, 'BODY_BUDGET_MB', 256, 80, 65_536) * 1024 * 1024,
    decisions: readDecisions(environment),
    logLevel: readChoice(environment, 'LOG_LEVEL', 'info', logLevels),
    traces: readTraces(environment),
    isProxied: proxyVariables.some((name) => environment[name]),
    securityContact: readContact(environment, 'SECURITY_CONTACT'),
    sudoUser: environment.SUDO_USER?.replace(/\p{Cc}/gu, '').slice(0, 100) || null,
    secret: (name) => readSecret(environment, name),
  };
}

/** The configuration, and what is wrong with the secret, which then counts as not set. Throws for any other problem. */
export function readConfigApartFromSecret(
  environment: Environment = process.env,
): Readonly<{ config: Config; secretProblem: string | null }> {
  try {
    return { config: readConfig(environment), secretProblem: null };
  } catch (error) {
    const config = readConfig({ ...environment, AUTH_SECRET: undefined, AUTH_SECRET_FILE: undefined });
    return { config, secretProblem: error instanceof Error ? error.message : String(error) };
  }
}

type DatabaseUrls = Pick<Config, 'databaseUrl' | 'databaseDirectUrl' | 'databaseReadUrl'>;

function readDatabase(environment: Environment): DatabaseUrls {
  const databaseUrl = readDatabaseUrl(environment, 'DATABASE_URL');
  const databaseDirectUrl = readDatabaseUrl(environment, 'DATABASE_DIRECT_URL');
  const databaseReadUrl = readDatabaseUrl(environment, 'DATABASE_READ_URL');
  if (databaseUrl === null && (databaseDirectUrl ?? databaseReadUrl) !== null)
    throw new OperatorError(
      `${databaseDirectUrl === null ? 'DATABASE_READ_URL' : 'DATABASE_DIRECT_URL'} is set without DATABASE_URL.`,
    );
  if (databaseReadUrl !== null && (urlsOfHosts(databaseReadUrl) ?? []).length > 1)
    throw new OperatorError('DATABASE_READ_URL must name one host; DATABASE_URL may name several.');
  return { databaseUrl, databaseDirectUrl, databaseReadUrl };
}

const sslModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'];

/** The URL may contain a password, so no message repeats it. */
function readDatabaseUrl(environment: Environment, name: string): string | null {
  const text = readSecret(environment, name);
  if (text === null) return null;
  const urls = urlsOfHosts(text);
  if (urls === null)
    throw new OperatorError(
      `${name} must have the form postgres://user:password@host:5432/database, with a slash in the password as %2F.`,
    );
  const sslMode = URL.parse(urls[0] ?? '')?.searchParams.get('sslmode') ?? 'disable';
  if (!sslModes.includes(sslMode))
    throw new OperatorError(`sslmode in ${name} must be one of ${sslModes.join(', ')}.`);
  return text;
}

/**
 * The environment of a worker: that of its parent, its own number, and what the parent has decided for all of them. A
 * worker has no terminal, so by itself it would drain differently from a parent that has one.
 */
export function workerEnvironment(
  { drain }: Pick<Config, 'drain'>,
  worker: number,
  port: number,
  environment: Environment = process.env,
): Record<string, string | undefined> {
  return {
    ...environment,
    PORT: `${port}`,
    TOLLGATE_WORKER: `${worker}`,
    DRAIN_DELAY_SECONDS: `${drain.delaySeconds}`,
    DRAIN_SECONDS: `${drain.seconds}`,
  };
}

function readPublicUrl(environment: Environment): string | null {
  const text = environment.PUBLIC_URL;
  if (!text) return null;
  const url = URL.parse(text);
  const isOrigin =
    url !== null && url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '';
  if (isOrigin && (url.protocol === 'https:' || url.protocol === 'http:')) return url.origin;
  throw new OperatorError(
    `PUBLIC_URL must be an address such as https://gateway.example.com, but is "${text}".`,
  );
}

function readContact(environment: Environment, name: 'SECURITY_CONTACT' | 'OPERATOR_CONTACT'): string | null {
  const text = environment[name];
  if (!text) return null;
  // Whatever could begin another line of the file is refused.
  const url = URL.canParse(text) && !/[\s\p{Cc}]/u.test(text) ? new URL(text) : null;
  if (url?.protocol === 'mailto:' && /^[^@]+@[^@]+$/.test(url.pathname)) return url.href;
  if (url?.protocol === 'https:' && url.username === '' && url.password === '') return url.href;
  const example = name === 'SECURITY_CONTACT' ? 'security' : 'billing';
  throw new OperatorError(
    `${name} must be an address such as mailto:${example}@example.com or https://example.com/${example}, but is "${text}".`,
  );
}

/** A short secret could be guessed, and with it every cursor and session. */
function readAuthSecret(environment: Environment): string | null {
  const text = readSecret(environment, 'AUTH_SECRET');
  if (text === null || text.length >= minSecret) return text;
  throw new OperatorError(
    `AUTH_SECRET must have at least ${minSecret} characters. Generate one with: openssl rand -base64 32`,
  );
}

/** This URL may contain a password too. */
function readMail(environment: Environment): MailSettings | null {
  const url = readSecret(environment, 'SMTP_URL');
  if (url === null) return null;
  if (!['smtp:', 'smtps:'].includes(URL.parse(url)?.protocol ?? ''))
    throw new OperatorError('SMTP_URL must have the form smtp://user:password@host:587 or smtps://….');
  const from = environment.MAIL_FROM;
  if (!from || !/^(?:[^<>\p{Cc}]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/u.test(from))
    throw new OperatorError(
      'With SMTP_URL set, MAIL_FROM must be the sender of mails, such as Tollgate <noreply@example.com>.',
    );
  const origin = readPublicUrl(environment);
  if (origin === null)
    throw new OperatorError('With SMTP_URL set, PUBLIC_URL must be set too: links in mails lead there.');
  return { url, from, origin };
}

const maxWelcome = 1_000n * 10n ** 12n;

/** The bounds are never off: whoever opens sign-up gives at most the amount times the number for a day. */
function readWelcomeGrant(environment: Environment): WelcomeGrantSettings | null {
  const text = environment.WELCOME_GRANT;
  if (!text) return null;
  const amount = parseMoney(text);
  if (amount === null || amount <= 0n || amount > maxWelcome)
    throw new OperatorError(
      `WELCOME_GRANT must be an amount in USD up to 1000, such as 5, but is "${text}".`,
    );
  return {
    amount,
    days: readInteger(environment, 'WELCOME_GRANT_DAYS', 90, 0, 3_650) || null,
    maxPerNetworkAndDay: readInteger(environment, 'WELCOME_GRANTS_PER_NETWORK', 3, 1, 10_000),
    maxPerDay: readInteger(environment, 'WELCOME_GRANTS_PER_DAY', 100, 1, 10_000),
  };
}

/** With a secret that can be guessed, anyone could send events. No message repeats a secret. */
function readPayments(environment: Environment): PaymentSettings | null {
  if (readChoice(environment, 'PAYMENTS', 'off', ['off', 'stripe']) === 'off') return null;
  const secretKey = readSecret(environment, 'STRIPE_SECRET_KEY');
  const [, mode] = /^(?:sk|rk)_(live|test)_\w{8,}$/.exec(secretKey ?? '') ?? [];
  if (secretKey === null || mode === undefined)
    throw new OperatorError(
      'With PAYMENTS=stripe, STRIPE_SECRET_KEY must be a secret or restricted key of Stripe: sk_live_…, rk_live_…, or with test.',
    );
  const webhookSecrets = (readSecret(environment, 'STRIPE_WEBHOOK_SECRET') ?? '').split(',');
  if (!webhookSecrets.every((secret) => /^whsec_[!-~]{32,}$/.test(secret)))
    throw new OperatorError(
      'With PAYMENTS=stripe, STRIPE_WEBHOOK_SECRET must be the signing secret of the webhook endpoint: whsec_ and at least 32 characters; or two of them with a comma between.',
    );
  const origin = readPublicUrl(environment);
  if (origin === null)
    throw new OperatorError('With PAYMENTS=stripe, PUBLIC_URL must be set too: people return there.');
  return {
    secretKey,
    webhookSecrets,
    isLive: mode === 'live',
    apiUrl: readStripeUrl(environment),
    hasTax: readChoice(environment, 'STRIPE_TAX', 'on', ['on', 'off']) === 'on',
    suspendsDisputed:
      readChoice(environment, 'PAYMENTS_DISPUTES', 'suspend', ['suspend', 'keep']) === 'suspend',
    origin,
  };
}

/** For tests: nobody else has a Stripe of their own. */
function readStripeUrl(environment: Environment): string | null {
  const text = environment.STRIPE_API_URL;
  if (!text) return null;
  const url = URL.parse(text);
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) return url.origin;
  throw new OperatorError('STRIPE_API_URL must be an address such as http://127.0.0.1:12111.');
}

/** The names are OpenTelemetry's own. */
function readTraces(environment: Environment): TraceSettings | null {
  const text = environment.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (!text) return null;
  const protocol = URL.canParse(text) ? new URL(text).protocol : null;
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new OperatorError(
      'OTEL_EXPORTER_OTLP_ENDPOINT must be the address of a collector, such as http://127.0.0.1:4318.',
    );
  return {
    endpoint: text.replace(/\/+$/, ''),
    headers: readHeaders(readSecret(environment, 'OTEL_EXPORTER_OTLP_HEADERS') ?? ''),
    serviceName: environment.OTEL_SERVICE_NAME || 'tollgate',
  };
}

/**
 * Bun sends 256 requests at a time unless this variable says otherwise when the process starts; a gateway needs as many as
 * it has clients. Null when it is set.
 */
export function environmentForManyRequests(environment: Environment = process.env): Environment | null {
  const name = 'BUN_CONFIG_MAX_HTTP_REQUESTS';
  return environment[name] ? null : { ...environment, [name]: '65336' };
}

/** At most a hundred years, so that the date stays in range. */
function readRetention(environment: Environment): number | null {
  const name = 'GENERATION_RETENTION_DAYS';
  return environment[name] ? readInteger(environment, name, 0, 1, 36_500) : null;
}

const decisionVariables = ['DECISIONS_BASE_URL', 'DECISIONS_API_KEY', 'DECISIONS_MODEL'];

/** Whether the settings of a provider are complete is checked where its key is read, because that may change. */
function readDecisions(environment: Environment): Config['decisions'] {
  const chatModel = environment.DECISIONS_CHAT_MODEL || null;
  const isSet = (name: string) => environment[name] || environment[`${name}_FILE`];
  const other = chatModel === null ? undefined : decisionVariables.find(isSet);
  if (other !== undefined)
    throw new OperatorError(
      `DECISIONS_CHAT_MODEL and ${other} are both set: decisions come from a chat model or from a decision provider, not both.`,
    );
  return {
    baseUrl: readDecisionsUrl(environment),
    model: environment.DECISIONS_MODEL || null,
    providerName: environment.DECISIONS_PROVIDER_NAME || 'Decision provider',
    chatModel,
  };
}

/** Someone may have put a password there, so the message does not repeat it. */
function readDecisionsUrl(environment: Environment): string | null {
  const text = environment.DECISIONS_BASE_URL;
  if (!text) return null;
  const url = URL.parse(text);
  const isBare = url !== null && url.username === '' && url.password === '' && !/[?#]/.test(text);
  if (isBare && (url.protocol === 'https:' || url.protocol === 'http:')) return url.href.replace(/\/+$/, '');
  throw new OperatorError(
    'DECISIONS_BASE_URL must be an address such as https://decisions.example.com/v1, without credentials or a query.',
  );
}

function readProcesses(environment: Environment): ProcessSettings {
  const workers = readWorkers(environment);
  const worker = environment.TOLLGATE_WORKER ? Number(environment.TOLLGATE_WORKER) : null;
  return {
    workers,
    worker,
    drain: readDrain(environment),
    metrics: readMetrics(environment, workers, worker),
  };
}

const minToken = 16;
const maxWorkers = 256;

function readWorkers(environment: Environment): number {
  if (environment.WORKERS === 'auto') return Math.min(availableParallelism(), maxWorkers);
  if (!environment.WORKERS || /^\d+$/.test(environment.WORKERS))
    return readInteger(environment, 'WORKERS', 1, 1, maxWorkers);
  throw new OperatorError(
    `WORKERS must be auto or a whole number from 1 to ${maxWorkers}, but is "${environment.WORKERS}".`,
  );
}

/** Someone at a terminal who presses Ctrl-C has no balancer to wait for. */
const isAtTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true;

const maxDrainSeconds = 86_400;

/** The embedded database is for one gateway without a balancer, mostly someone's own machine. */
function readDrain(environment: Environment): DrainSettings {
  const isEmbedded = !environment.DATABASE_URL && !environment.DATABASE_URL_FILE;
  const defaultDelay = isEmbedded || isAtTerminal ? 0 : 5;
  const delaySeconds = readInteger(environment, 'DRAIN_DELAY_SECONDS', defaultDelay, 0, maxDrainSeconds);
  const defaultSeconds = Math.max(isEmbedded ? 10 : 600, delaySeconds);
  const seconds = readInteger(environment, 'DRAIN_SECONDS', defaultSeconds, 0, maxDrainSeconds);
  if (environment.DRAIN_DELAY_SECONDS && seconds < delaySeconds)
    throw new OperatorError(
      `DRAIN_SECONDS includes DRAIN_DELAY_SECONDS, so it must be at least ${delaySeconds}, but is ${seconds}.`,
    );
  return { delaySeconds: Math.min(delaySeconds, seconds), seconds };
}

/** Each worker serves its own metrics on its own port: METRICS_PORT and the ones after it. */
function readMetrics(environment: Environment, workers: number, worker: number | null): MetricsSettings {
  const token = readSecret(environment, 'METRICS_TOKEN');
  if (token !== null && token.length < minToken)
    throw new OperatorError(`METRICS_TOKEN must have at least ${minToken} characters.`);
  const isOn = readChoice(environment, 'METRICS', 'on', ['on', 'off']) === 'on';
  if (isOn && token !== null && workers > 1)
    throw new OperatorError(
      `METRICS_TOKEN works with a single worker only, but WORKERS makes ${workers}: each scrape would reach another one. Set METRICS_PORT instead, and scrape one port per worker, from METRICS_PORT on.`,
    );
  const first = environment.METRICS_PORT
    ? readInteger(environment, 'METRICS_PORT', 0, 1, 65_536 - workers)
    : null;
  return { isOn, port: first === null ? null : first + (worker ?? 1) - 1, token };
}
