/**
 * The only reader of the environment. Whatever is missing or wrong is said here, at boot, naming the variable.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type IpNetwork, parseNetwork } from './lib/ip-address.ts';
import { type LogLevel, logLevels } from './lib/log.ts';
import { OperatorError } from './lib/operator-error.ts';

const minSecret = 32;

type Environment = Readonly<Record<string, string | undefined>>;

/** The PostgreSQL settings without which a committed charge can be lost. */
export const durabilitySettings = ['fsync', 'full_page_writes', 'synchronous_commit'] as const;
export type DurabilitySetting = (typeof durabilitySettings)[number];

const proxyVariables = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'];

export type Config = Readonly<{
  port: number;
  host: string;
  /** Null means the embedded PostgreSQL inside the data folder. */
  databaseUrl: string | null;
  /** Durability settings that may be off in the database, each named by the operator. */
  allowedUnsafeSettings: ReadonlySet<DurabilitySetting>;
  dataFolder: string;
  catalogFile: string;
  publicUrl: string | null;
  /** Signs and encrypts; null means that the gateway makes its own. */
  authSecret: string | null;
  /** Whether anyone may make a user and an account of their own. */
  isSignUpOpen: boolean;
  /** Null when the gateway cannot send mail. */
  mail: MailSettings | null;
  /** Whose X-Forwarded-For header is believed. */
  trustedProxies: readonly IpNetwork[];
  /** How long Generations are kept; null means forever. */
  generationRetentionDays: number | null;
  /** How many bytes of request bodies are taken in at a time; a quarter of it from one account. */
  bodyBudgetBytes: number;
  /** Who answers the questions of POST /api/decisions/run. Null stands for what is not set. */
  decisions: Readonly<{
    baseUrl: string | null;
    model: string | null;
    providerName: string;
    /** A chat model of the catalogue that is asked instead of a provider. */
    chatModel: string | null;
  }>;
  logLevel: LogLevel;
  /** Whether the environment names a proxy, which calls to providers then leave through. */
  isProxied: boolean;
  /** Where weaknesses are reported, as a mailto: or https: URL; null when nowhere. */
  securityContact: string | null;
  /** Who called the command line with sudo; null when nobody did. */
  sudoUser: string | null;
  /** Reads a secret such as a provider key: from NAME, else from the file that NAME_FILE names. */
  secret: (name: string) => string | null;
}>;

/** `url` may hold a password. The links in mails lead to `origin`, never to what a request calls the gateway. */
export type MailSettings = Readonly<{ url: string; from: string; origin: string }>;

export function readConfig(environment: Environment = process.env): Config {
  return {
    port: readInteger(environment, 'PORT', 8080, 0, 65_535),
    host: environment.HOST || '127.0.0.1',
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
    securityContact: readSecurityContact(environment),
    sudoUser: environment.SUDO_USER?.replace(/\p{Cc}/gu, '').slice(0, 100) || null,
    secret: (name) => readSecret(environment, name),
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

function readInteger(
  environment: Environment,
  name: string,
  fallback: number,
  least: number,
  most: number,
): number {
  const text = environment[name];
  if (!text) return fallback;
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new OperatorError(`${name} must be a whole number from ${least} to ${most}, but is "${text}".`);
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
  const items = (environment[name] ?? '').split(',').map((item) => item.trim());
  return items
    .filter((item) => item !== '')
    .map((item) => readChoice({ [name]: item }, name, item as Choice, choices));
}

/** The URL may hold a password, so no message repeats it. */
function readDatabaseUrl(environment: Environment): string | null {
  const text = readSecret(environment, 'DATABASE_URL');
  if (text === null) return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol === 'postgres:' || url?.protocol === 'postgresql:') return text;
  throw new OperatorError('DATABASE_URL must have the form postgres://user:password@host:5432/database.');
}

function readPublicUrl(environment: Environment): string | null {
  const text = environment.PUBLIC_URL;
  if (!text) return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  const isOrigin =
    url !== null && url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '';
  if (isOrigin && (url.protocol === 'https:' || url.protocol === 'http:')) return url.origin;
  throw new OperatorError(
    `PUBLIC_URL must be an address such as https://gateway.example.com, but is "${text}".`,
  );
}

function readSecurityContact(environment: Environment): string | null {
  const text = environment.SECURITY_CONTACT;
  if (!text) return null;
  // Whatever could begin another line of the file is refused.
  const url = URL.canParse(text) && !/[\s\p{Cc}]/u.test(text) ? new URL(text) : null;
  if (url?.protocol === 'mailto:' && /^[^@]+@[^@]+$/.test(url.pathname)) return url.href;
  if (url?.protocol === 'https:' && url.username === '' && url.password === '') return url.href;
  throw new OperatorError(
    `SECURITY_CONTACT must be an address such as mailto:security@example.com or https://example.com/security, but is "${text}".`,
  );
}

/** A short one could be guessed, and with it every cursor and session. */
function readAuthSecret(environment: Environment): string | null {
  const text = readSecret(environment, 'AUTH_SECRET');
  if (text === null || text.length >= minSecret) return text;
  throw new OperatorError(
    `AUTH_SECRET must have at least ${minSecret} characters. Make one with: openssl rand -base64 32`,
  );
}

/** Like the database's, this URL may hold a password. */
function readMail(environment: Environment): MailSettings | null {
  const url = readSecret(environment, 'SMTP_URL');
  if (url === null) return null;
  const protocol = URL.canParse(url) ? new URL(url).protocol : null;
  if (protocol !== 'smtp:' && protocol !== 'smtps:')
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
  const items = (environment[name] ?? '').split(',').map((item) => item.trim());
  return items
    .filter((item) => item !== '')
    .map((item) => {
      const network = parseNetwork(item);
      if (network !== null) return network;
      throw new OperatorError(
        `${name} must be addresses or networks such as 10.0.0.0/8, separated by commas, but has "${item}".`,
      );
    });
}

/** Where a browser on this machine finds the gateway. */
export function localOriginOf({ host, port }: Pick<Config, 'host' | 'port'>): string {
  const reachable = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

/** A hundred years is as good as forever, and still a date. */
function readRetention(environment: Environment): number | null {
  const name = 'GENERATION_RETENTION_DAYS';
  return environment[name] ? readInteger(environment, name, 0, 1, 36_500) : null;
}

const decisionVariables = ['DECISIONS_BASE_URL', 'DECISIONS_API_KEY', 'DECISIONS_MODEL'];

/** Whether a provider's settings are complete is found out where its key is read, which may change. */
function readDecisions(environment: Environment): Config['decisions'] {
  const chatModel = environment.DECISIONS_CHAT_MODEL || null;
  const isSet = (name: string) => environment[name] || environment[`${name}_FILE`];
  const other = chatModel === null ? undefined : decisionVariables.find(isSet);
  if (other !== undefined)
    throw new OperatorError(
      `DECISIONS_CHAT_MODEL and ${other} are both set: decisions come from a chat model or from a provider of them.`,
    );
  return {
    baseUrl: readDecisionsUrl(environment),
    model: environment.DECISIONS_MODEL || null,
    providerName: environment.DECISIONS_PROVIDER_NAME || 'Decision provider',
    chatModel,
  };
}

/** It may hold a password that does not belong there, so the message does not repeat it. */
function readDecisionsUrl(environment: Environment): string | null {
  const text = environment.DECISIONS_BASE_URL;
  if (!text) return null;
  const url = URL.canParse(text) ? new URL(text) : null;
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
