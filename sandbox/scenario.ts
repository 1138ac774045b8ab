/**
 * Parses the directives with which a user asks for a fault, `[[name value]]`. A Scenario only states what was asked for;
 * docs/sandbox.md explains each directive.
 */

import { BadRequest } from './errors.ts';

/** One parser per directive. It turns the text after the name into a value, or undefined if the text is invalid. */
export const directives = {
  // Instead of an answer.
  status: status,
  'retry-after': text,
  flaky: flaky,
  'fail-first': status,
  html: status,
  'error-body': flag,
  'not-json': flag,
  redirect: flag,
  close: flag,
  hang: flag,

  // Time.
  delay: whole,
  'chunk-delay': whole,

  // Content.
  say: text,
  long: whole,
  repeat: whole,
  finish: text,
  tool: text,
  tools: whole,
  interleave: flag,

  // Reported usage.
  usage: twoWhole,
  reasoning: whole,
  cached: whole,
  'no-usage': flag,
  'zero-usage': flag,
  'bad-usage': oneOf('negative', 'fraction', 'string', 'partial', 'total'),

  // Transfer.
  cut: position,
  end: position,
  stall: position,
  malformed: malformed,
  'error-event': position,
  empty: flag,
  'no-done': flag,
  'wrong-type': flag,
  crlf: flag,
  bytes: positive,
  burst: flag,
  gzip: flag,
  huge: positive,

  // Images and decisions.
  fewer: whole,
  'bad-answer': oneOf('missing', 'type', 'probability'),
  charge: decimal,
};

type DirectiveName = keyof typeof directives;

export type Scenario = { readonly [Name in DirectiveName]?: ReturnType<(typeof directives)[Name]> };

export type Reading = Readonly<{
  scenario: Scenario;
  /** The directives as written, without the brackets. */
  written: readonly string[];
  /** The rest of the user's text. */
  plainText: string;
}>;

/** A position in a stream: after a number of content chunks, after the finish reason, or after the usage. */
export type Position = number | 'finish' | 'usage';

/** One whose name is unknown, or whose value is invalid. */
export class BadDirective extends BadRequest {
  constructor(
    message: string,
    readonly directive: string,
  ) {
    super(message, null);
  }
}

export function readDirectives(userText: string): Reading {
  const scenario: Record<string, unknown> = {};
  const written: string[] = [];
  let plainText = '';
  let position = 0;
  // indexOf instead of a pattern, because a pattern would take a second for a megabyte of brackets.
  for (let close = userText.indexOf(']]'); close !== -1; close = userText.indexOf(']]', position)) {
    const before = userText.slice(position, close);
    const open = before.lastIndexOf('[[');
    const directive = open === -1 ? null : /^([a-z][a-z-]*)(?:\s+(.*))?$/s.exec(before.slice(open + 2));
    position = close + 2;
    if (directive === null) {
      plainText += `${before}]]`;
      continue;
    }
    const [whole, name = '', value = ''] = directive;
    if (!isDirectiveName(name)) throw new BadDirective(`Unknown directive [[${name}]].`, name);
    scenario[name] = readValue(name, value);
    written.push(whole);
    plainText += before.slice(0, open);
  }
  plainText += userText.slice(position);
  return { scenario: scenario as Scenario, written, plainText: plainText.trim() };
}

/** Merges the directives for every request with those of one, which override those with the same name. */
export function mergeReadings(standing: Reading, own: Reading): Reading {
  return {
    scenario: { ...standing.scenario, ...own.scenario },
    written: [...standing.written, ...own.written],
    plainText: own.plainText,
  };
}

function isDirectiveName(name: string): name is DirectiveName {
  return Object.hasOwn(directives, name);
}

function readValue(name: DirectiveName, value: string): unknown {
  const read = directives[name](value);
  // A typo must not turn a fault test into a test of nothing.
  if (read === undefined) throw new BadDirective(`Invalid value for [[${name}]]: "${value}".`, name);
  return read;
}

function flag(value: string): true | undefined {
  return value === '' ? true : undefined;
}

function text(value: string): string | undefined {
  return value === '' ? undefined : value;
}

function whole(value: string): number | undefined {
  return /^\d{1,7}$/.test(value) ? Number(value) : undefined;
}

function decimal(value: string): number | undefined {
  return /^\d{1,9}(\.\d{1,12})?$/.test(value) ? Number(value) : undefined;
}

function positive(value: string): number | undefined {
  return whole(value) || undefined;
}

function position(value: string): Position | undefined {
  return value === 'finish' || value === 'usage' ? value : whole(value);
}

/** What cannot be read of the event: its JSON, its bytes, or that it is an object at all. */
function malformed(value: string): { position: Position; fault: 'json' | 'utf-8' | 'list' } | undefined {
  const [where = '', fault = 'json', ...more] = value.split(/\s+/);
  const at = position(where);
  const known = oneOf('json', 'utf-8', 'list')(fault);
  return at === undefined || known === undefined || more.length > 0
    ? undefined
    : { position: at, fault: known };
}

function status(value: string): number | undefined {
  return /^[2-5]\d\d$/.test(value) ? Number(value) : undefined;
}

function twoWhole(value: string): readonly [number, number] | undefined {
  const [, first, second] = /^(\d{1,15})\s+(\d{1,15})$/.exec(value) ?? [];
  return first && second ? [Number(first), Number(second)] : undefined;
}

/** The full text is the key of the count, so a label after the status gives a test its own count. */
function flaky(value: string): { times: number; status: number; key: string } | undefined {
  const [, times, code] = /^(\d{1,7})\s+([2-5]\d\d)(?:\s+\S+)?$/.exec(value) ?? [];
  return times && code ? { times: Number(times), status: Number(code), key: value } : undefined;
}

function oneOf<const Choice extends string>(...choices: Choice[]): (value: string) => Choice | undefined {
  return (value) => choices.find((choice) => choice === value);
}
