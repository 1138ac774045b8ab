/**
 * The only reader of the environment. Whatever is missing or wrong is said here, at boot, naming the variable.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type LogLevel, logLevels } from './lib/log.ts';
import { OperatorError } from './lib/operator-error.ts';

const shortestSecret = 32;

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
  /** How long Generations are kept; null means forever. */
  generationRetentionDays: number | null;
  logLevel: LogLevel;
  /** Whether the environment names a proxy, which calls to providers then leave through. */
  isProxied: boolean;
  /** Reads a secret such as a provider key: from NAME, else from the file that NAME_FILE names. */
  secret: (name: string) => string | null;
}>;

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
    generationRetentionDays: readRetention(environment),
    logLevel: readChoice(environment, 'LOG_LEVEL', 'info', logLevels),
    isProxied: proxyVariables.some((name) => environment[name]),
    secret: (name) => readSecret(environment, name),
  };
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

/** A short one could be guessed, and with it every cursor and session. */
function readAuthSecret(environment: Environment): string | null {
  const text = readSecret(environment, 'AUTH_SECRET');
  if (text === null || text.length >= shortestSecret) return text;
  throw new OperatorError(
    `AUTH_SECRET must have at least ${shortestSecret} characters. Make one with: openssl rand -base64 32`,
  );
}

/** A hundred years is as good as forever, and still a date. */
function readRetention(environment: Environment): number | null {
  const name = 'GENERATION_RETENTION_DAYS';
  return environment[name] ? readInteger(environment, name, 0, 1, 36_500) : null;
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
