/** What one client requests next: a pure random choice, the same for the same seed. */

import type { Random } from '../random.ts';
import { boundsOf } from '../world/bounds.ts';
import {
  briefModel,
  fallbackModel,
  networkModel,
  networkOnlyModel,
  plainModel,
  stubbornModel,
} from '../world/catalog.ts';
import type { Usage } from '../world/upstream.ts';

/** The keys of seven accounts, and one of the rich account with a monthly limit. */
export type KeyName = 'rich' | 'poor' | 'limited' | 'brink' | 'changing' | 'capped' | 'paced' | 'granted';

export type RequestPlan = Readonly<{
  token: string;
  /** What is special about it, for the report. */
  kind: string;
  /** Which key it is sent with, for the log. */
  keyName: string;
  /** Whom it is for, if it says so. */
  endUser?: string | null;
  streaming: boolean;
  /** Null if it stays to the end. */
  abortAfterMs: number | null;
  /** What the provider was told to say, so that the client knows its own answer. */
  answer: string;
  /** What the hold covers; null when the request does not limit the length of its answer. */
  bounds: Usage | null;
  body: object;
}>;

type ProviderFault = Readonly<{ kind: string; directives: string }>;

const faults: readonly [ProviderFault, ...ProviderFault[]] = [
  { kind: 'status', directives: '[[status 500]]' },
  { kind: 'status', directives: '[[status 429]]' },
  { kind: 'status', directives: '[[status 400]]' },
  { kind: 'cut', directives: '[[cut 3]]' },
  { kind: 'end', directives: '[[end 3]]' },
  { kind: 'no-usage', directives: '[[no-usage]]' },
  { kind: 'malformed', directives: '[[malformed 3]]' },
  { kind: 'malformed', directives: '[[malformed 3 utf-8]]' },
  { kind: 'malformed', directives: '[[malformed 3 list]]' },
  { kind: 'close', directives: '[[close]]' },
  { kind: 'empty', directives: '[[empty]]' },
];

export const outputLimit = 100;
const longWords = 50;
/** The same word so often in a row that the gateway takes the provider to be stuck in a loop. */
const loopWords = 150;
/** Beyond both bounds, but within what is tolerated. */
const tolerated = 10;

type Kind = ProviderFault & Readonly<{ words: number; isUnlimited?: boolean; isBrief?: boolean }>;

export function planRequest(token: string, random: Random): RequestPlan & { keyName: KeyName } {
  const keyName = chooseKey(random);
  const { kind, directives, words, isUnlimited = false, isBrief = false } = chooseKind(keyName, random);
  const streaming = isBrief || random.happens(0.5);
  const answer = `${token}${' word'.repeat(words)}`;
  // Without a limit the hold is far more than the small accounts have.
  const isLimited = keyName !== 'rich' || (!isUnlimited && random.happens(0.5)) || kind === 'implausible';
  const content =
    kind === 'overrun'
      ? overrunContent(answer)
      : `Tell me. [[say ${answer}]] ${directives}${kind === 'contradiction' ? '' : chooseCache(random)}`;
  return {
    token,
    kind,
    keyName,
    endUser: keyName === 'capped' || keyName === 'paced' ? chooseEndUser(random) : null,
    streaming,
    abortAfterMs: random.happens(0.12) ? random.between(1, random.pick([20, 100, 600])) : null,
    answer,
    bounds: isLimited ? boundsOf(content, outputLimit) : null,
    body: {
      model: isBrief ? briefModel : chooseModel(random),
      messages: [{ role: 'user', content }],
      ...(isLimited ? { max_tokens: outputLimit } : {}),
      ...(streaming ? { stream: true } : {}),
      ...(streaming && random.happens(0.5) ? { stream_options: { include_usage: true } } : {}),
    },
  };
}

function chooseKey(random: Random): KeyName {
  if (random.happens(0.03)) return 'brink';
  const others = ['changing', 'poor', 'limited', 'capped', 'paced', 'granted'] as const;
  return random.pick<KeyName>(['rich', 'rich', 'rich', 'rich', 'rich', ...others]);
}

/** Who has limits, in limits.ts and steady-limits.ts. */
export const endUsers = ['user 0', 'user 1', 'user 2', 'user 3'] as const;

function chooseEndUser(random: Random): string | null {
  return random.happens(0.7) ? random.pick([...endUsers]) : null;
}

const overrunLength = 150;

/** The hold of every request on the brink: its text always has the same length. */
export const overrunBounds = boundsOf(' '.repeat(overrunLength), outputLimit);

function overrunContent(answer: string): string {
  const { inputTokens, outputTokens } = overrunBounds;
  // All of it is written to a cache, which costs most.
  const reported = inputTokens + tolerated;
  const usage = `[[usage ${reported} ${outputTokens + tolerated}]] [[cache-write ${reported}]]`;
  return `Tell me. [[say ${answer}]] ${usage}`.padEnd(overrunLength);
}

function chooseModel(random: Random): string {
  const chance = random.next();
  if (chance < 0.1) return fallbackModel;
  if (chance < 0.2) return networkModel;
  if (chance < 0.3) return networkOnlyModel;
  if (chance < 0.45) return stubbornModel;
  return plainModel;
}

function chooseKind(keyName: KeyName, random: Random): Kind {
  // A little more than the hold: their balance covers the hold and nothing else.
  if (keyName === 'brink') return { kind: 'overrun', directives: '', words: 5 };
  const chance = random.next();
  if (chance < 0.2) return { ...random.pick(faults), words: 10 };
  if (chance < 0.3) return { kind: 'delay', directives: '[[delay 200]]', words: 5 };
  if (chance < 0.38) return { kind: 'long', directives: '[[chunk-delay 20]]', words: longWords };
  if (chance < 0.41) return { kind: 'implausible', directives: '[[usage 20 1500]]', words: 5 };
  if (chance < 0.43 && keyName === 'rich')
    return { kind: 'loop', directives: '', words: loopWords, isUnlimited: true };
  // The gateway ends it in the middle, before the provider has said what was used.
  if (chance < 0.44)
    return { kind: 'overlong', directives: '[[chunk-delay 40]]', words: longWords, isBrief: true };
  if (chance < 0.47) return { kind: 'contradiction', directives: '[[usage-contradiction]]', words: 5 };
  return { kind: 'plain', directives: '', words: random.between(1, 12) };
}

/** Some have as many tokens as the request, and then all of its input is cached. */
const maxCached = 40;

/** How much of the input the provider reads from its cache, and how much it writes to it. */
function chooseCache(random: Random): string {
  const read = random.happens(0.4) ? ` [[cached ${random.between(1, maxCached)}]]` : '';
  const written = random.happens(0.25) ? ` [[cache-write ${random.between(1, maxCached)}]]` : '';
  return read + written;
}
