/** The only reader of the environment. Anything missing or wrong is reported at startup, with the name of the variable. */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { type IpNetwork, parseNetwork } from './lib/ip-address.ts';
import { type LogLevel, logLevels } from './lib/log.ts';
import { OperatorError } from './lib/operator-error.ts';

const minSecret = 32;

type Environment = Readonly<Record<string, string | undefined>>;

/** The PostgreSQL settings without which a committed charge can be lost. */
export const durabilitySettings = ['fsync', 'full_page_writes', 'synchronous_commit'] as const;
type DurabilitySetting = (typeof durabilitySettings)[number];

const proxyVariables = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'];

export type Config = Readonly<{
  port: number;
  host: string;
  /** How many processes serve requests. */
  workers: number;
  /** Which of them this process is, from 1; null when it is none, or the only one. Set by their parent. */
  worker: number | null;
  /** How a gateway stops: how long it still serves everyone, and how long requests may take in all, from the signal on. */
  drain: Readonly<{ delaySeconds: number; seconds: number }>;
  /** Null means the embedded PostgreSQL inside the data folder. */
  databaseUrl: string | null;
  /** Durability settings that the operator allows to be off. */
  allowedUnsafeSettings: ReadonlySet<DurabilitySetting>;
  dataFolder: string;
  catalogFile: string;
  publicUrl: string | null;
  /** Signs and encrypts; null means that the gateway generates one. */
  authSecret: string | null;
  /** Whether anyone may sign up. */
  isSignUpOpen: boolean;
  /** Null when the gateway cannot send mail. */
  mail: MailSettings | null;
  /** Whose X-Forwarded-For header is believed. */
  trustedProxies: readonly IpNetwork[];
  /** How long Generations are kept; null means forever. */
  generationRetentionDays: number | null;
  /** How many bytes of request bodies may be in memory at a time; a quarter of it per account. */
  bodyBudgetBytes: number;
  /** The source of decisions. Null stands for what is not set. */
  decisions: Readonly<{
    baseUrl: string | null;
    model: string | null;
    providerName: string;
    /** A chat model of the catalogue, used instead of a decision provider. */
    chatModel: string | null;
  }>;
  logLevel: LogLevel;
  /** Whether calls to providers go through a proxy that the environment names. */
  isProxied: boolean;
  /** Reads a secret such as a provider key: from NAME, else from the file that NAME_FILE names. */
  secret: (name: string) => string | null;
}>;

/** `url` may contain a password. Links in mails lead to `origin`, never to the Host of a request. */
export type MailSettings = Readonly<{ url: string; from: string; origin: string }>;

/** Someone at a terminal who presses Ctrl-C has no balancer to wait for. */
const isAtTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true;

export function readConfig(environment: Environment = process.env): Config {
  return {
    port: readInteger(environment, 'PORT', 8080, 0, 65_535),
    host: environment.HOST || '127.0.0.1',
    workers: readWorkers(environment),
    worker: environment.TOLLGATE_WORKER ? Number(environment.TOLLGATE_WORKER) : null,
    drain: readDrain(environment),
    databaseUrl: readDatabaseUrl(environment),
    allowedUnsafeSettings: new Set(readList(environment, 'TOLLGATE_ALLOW_UNSAFE', durabilitySettings)),
    dataFolder: resolve(environment.TOLLGATE_DATA || '.tollgate'),
    catalogFile: resolve(environment.TOLLGATE_CATALOG || 'catalog.yaml'),
    publicUrl: readPublicUrl(environment),
    authSecret: readAuthSecret(environment),
    isSignUpOpen: readChoice(environment, 'SIGN_UP', 'closed', ['open', 'closed']) === 'open',
    mail: readMail(environment),
    trustedProxies: readNetworks(environment, 'TRUSTED_PROXIES'),
    generationRetentionDays: readRetention(environment),
    bodyBudgetBytes: readInteger(environment, 'BODY_BUDGET_MB', 256, 80, 65_536) * 1024 * 1024,
    decisions: readDecisions(environment),
    logLevel: readChoice(environment, 'LOG_LEVEL', 'info', logLevels),
    isProxied: proxyVariables.some((name) => environment[name]),
    secret: (name) => readSecret(environment, name),
  };
}

function readInteger(
  environment: Environment,
  name: string,
  fallback: number,
  min: number,
  max: number,
): number {
  const text = environment[name];
  if (!text) return fallback;
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new OperatorError(`${name} must be a whole number from ${min} to ${max}, but is "${text}".`);
}

function readChoice<Choice extends string>(
  environment: Environment,
  name: string,
  fallback: Choice,
  choices: readonly Choice[],
): Choice {
  const text = environment[name];
  if (!text) return fallback;
  const choice = choices.find((candidate) => candidate === text);
  if (choice !== undefined) return choice;
  throw new OperatorError(`${name} must be one of ${choices.join(', ')}, but is "${text}".`);
}

function readList<Choice extends string>(
  environment: Environment,
  name: string,
  choices: readonly Choice[],
): Choice[] {
  return itemsIn(environment, name).map((item) =>
    readChoice({ [name]: item }, name, item as Choice, choices),
  );
}

function itemsIn(environment: Environment, name: string): string[] {
  const items = (environment[name] ?? '').split(',').map((item) => item.trim());
  return items.filter((item) => item !== '');
}

/** The URL may contain a password, so no message repeats it. */
function readDatabaseUrl(environment: Environment): string | null {
  const text = readSecret(environment, 'DATABASE_URL');
  if (text === null) return null;
  if (['postgres:', 'postgresql:'].includes(URL.parse(text)?.protocol ?? '')) return text;
  throw new OperatorError('DATABASE_URL must have the form postgres://user:password@host:5432/database.');
}

const maxWorkers = 256;

function readWorkers(environment: Environment): number {
  if (environment.WORKERS === 'auto') return Math.min(availableParallelism(), maxWorkers);
  if (!environment.WORKERS || /^\d+$/.test(environment.WORKERS))
    return readInteger(environment, 'WORKERS', 1, 1, maxWorkers);
  throw new OperatorError(
    `WORKERS must be auto or a whole number from 1 to ${maxWorkers}, but is "${environment.WORKERS}".`,
  );
}

/** What a worker process gets: everything that its parent has, its number and the port that all of them share. */
export function workerEnvironment(worker: number, port: number): Record<string, string | undefined> {
  return { ...process.env, PORT: `${port}`, TOLLGATE_WORKER: `${worker}` };
}

const maxDrainSeconds = 86_400;

/** The embedded database is for one gateway without a balancer, mostly someone's own machine. */
function readDrain(environment: Environment): Config['drain'] {
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

/** A short secret could be guessed, and with it every cursor and session. */
function readAuthSecret(environment: Environment): string | null {
  const text = readSecret(environment, 'AUTH_SECRET');
  if (text === null || text.length >= minSecret) return text;
  throw new OperatorError(
    `AUTH_SECRET must have at least ${minSecret} characters. Make one with: openssl rand -base64 32`,
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

function readNetworks(environment: Environment, name: string): IpNetwork[] {
  return itemsIn(environment, name).map((item) => {
    const network = parseNetwork(item);
    if (network !== null) return network;
    throw new OperatorError(
      `${name} must be addresses or networks such as 10.0.0.0/8, separated by commas, but has "${item}".`,
    );
  });
}

/** The gateway's address for a browser on this machine. */
export function localOriginOf({ host, port }: Pick<Config, 'host' | 'port'>): string {
  const reachable = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
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

function readSecret(environment: Environment, name: string): string | null {
  const value = environment[name];
  const file = environment[`${name}_FILE`];
  if (value && file) throw new OperatorError(`${name} and ${name}_FILE are both set: keep one of them.`);
  if (value) return value;
  if (!file) return null;
  const content = readSecretFile(name, file).trim();
  if (content === '') throw new OperatorError(`${name}_FILE names "${file}", which is empty.`);
  return content;
}

function readSecretFile(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new OperatorError(`${name}_FILE names "${file}", which cannot be read.`);
  }
}
