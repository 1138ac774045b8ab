/** Reads values of environment variables. Whatever is wrong is reported with the name of the variable. */
import { readFileSync } from 'node:fs';
import { type IpNetwork, parseNetwork } from './ip-address.ts';
import { OperatorError } from './operator-error.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export function readInteger(
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

export function readChoice<Choice extends string>(
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

export function readList<Choice extends string>(
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

export function readNetworks(environment: Environment, name: string): IpNetwork[] {
  return itemsIn(environment, name).map((item) => {
    const network = parseNetwork(item);
    if (network !== null) return network;
    throw new OperatorError(
      `${name} must be addresses or networks such as 10.0.0.0/8, separated by commas, but has "${item}".`,
    );
  });
}

/** The values may be secret, so the message does not repeat them. */
export function readHeaders(text: string): Record<string, string> {
  const pairs = text.split(',').filter((pair) => pair.trim() !== '');
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name, value] = /^\s*([\w-]+)\s*=\s*([\x21-\x7e]+)\s*$/.exec(pair) ?? [];
      if (name === undefined || value === undefined)
        throw new OperatorError('OTEL_EXPORTER_OTLP_HEADERS must have the form name=value,name=value.');
      return [name.toLowerCase(), value];
    }),
  );
}

export function readSecret(environment: Environment, name: string): string | null {
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
