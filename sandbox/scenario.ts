/**
 * Parses the directives with which a user asks for a fault, `[[name value]]`. A Scenario only states what was asked for;
 * docs/sandbox.md explains each directive.
 */

import {
  cacheWrite,
  call,
  decimal,
  flag,
  flaky,
  malformed,
  oneOf,
  position,
  positive,
  status,
  text,
  twoWhole,
  whole,
} from './directive-values.ts';
import { BadRequest } from './errors.ts';

/** One parser per directive, for the text after its name. */
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
  tool: call,
  'next-tool': call,
  tools: whole,
  interleave: flag,

  // Reported usage.
  usage: twoWhole,
  reasoning: whole,
  cached: whole,
  'cache-write': cacheWrite,
  'no-usage': flag,
  'zero-usage': flag,
  'bad-usage': oneOf('negative', 'fraction', 'string', 'partial', 'total'),
  'usage-contradiction': flag,

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

/** A directive whose name is unknown or whose value is invalid. */
export class BadDirective extends BadRequest {
  constructor(
    message: string,
    readonly directive: string,
    /** What is wrong with its value; null when its name is unknown. */
    readonly flaw: string | null = null,
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
  if (read === undefined)
    throw new BadDirective(`Invalid value for [[${name}]]: "${value}".`, name, flawOf(name, value));
  return read;
}

const maxShown = 40;

function flawOf(name: DirectiveName, value: string): string {
  const { expected } = directives[name];
  const needed = expected === null ? 'takes no value' : `needs ${expected}`;
  const shown = value.length > maxShown ? `${value.slice(0, maxShown).toWellFormed()}…` : value;
  return value === '' ? needed : `${needed}, but has "${shown}"`;
}
