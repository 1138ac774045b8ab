/**
 * Recognises the common events of a Responses stream without parsing them, and rewrites them for clients of the same format.
 * The pieces of one item differ only in their text, their number and a padding of random length, so one that has been parsed
 * shows what the next ones look like around these. An event that differs in anything else is parsed.
 */
import type { ChatEvent } from './chat.ts';
import { type Fields, parseJson, parseObject } from './wire.ts';

/** Writes an event as a client of the same format gets it. `number` is its place in the stream. */
export type WireOf = (event: Fields, number: number) => string;

/** What differs from piece to piece, and a sample of each. */
const samples = { delta: 'sample-delta', sequence_number: 987_654_321, obfuscation: 'sample-padding' };
type Hole = keyof typeof samples;

const places: Readonly<Record<Hole, RegExp>> = {
  delta: /"delta": ?"/,
  sequence_number: /"sequence_number": ?/,
  obfuscation: /"obfuscation": ?"/,
};

/** A text with holes: before each hole there is a piece of it, and one after the last. */
type Holed = Readonly<{ pieces: readonly string[]; holes: readonly Hole[] }>;

type Piece = Extract<ChatEvent, { type: 'text' | 'reasoning' | 'tool_arguments' }>;

/**
 * How an event is rewritten: a text of our own, its number (null), or a stretch that stays as it is. Stretches are between
 * two bounds: the start and the end of each hole in turn, and the end of the event.
 */
type Rewriting = readonly (string | null | Readonly<Stretch>)[];
type Stretch = { from: number; to: number };

type DeltaTemplate = Readonly<{
  /** An event, from its data on. */
  data: Holed;
  /** Which of its holes is the text. */
  deltaHole: number;
  /** Its name, in front of the data. Servers may leave it out. */
  name: string;
  /** What it becomes for the client; null for clients of other formats. */
  wire: Rewriting | null;
  /** What it means, with any text. */
  meaning: Piece;
}>;

/** After this many templates in a row that matched no event, a stream yields no more. */
const maxUseless = 3;

/** The template of one stream, learned from its events, and the numbers of its events. */
export class DeltaTemplates {
  readonly #wireOf: WireOf | null;
  #template: DeltaTemplate | null = null;
  #useless = 0;
  #count = 0;
  /** Those of the event at hand. One array for all of them. */
  readonly #bounds: number[] = [];

  constructor(wireOf: WireOf | null) {
    this.#wireOf = wireOf;
  }

  /** Adds to the events of one on the wire what the client gets for it. Failures are written by the gateway itself. */
  withWire(event: Fields, events: readonly ChatEvent[]): readonly ChatEvent[] {
    const [first = { type: 'wire' } as const, ...others] = events;
    if (this.#wireOf === null || first.type === 'failure') return events;
    const wire = this.#wireOf(event, this.#count);
    this.#count += 1;
    return [{ ...first, wire }, ...others];
  }

  /** Takes the template from an event that had to be parsed. */
  learn(data: string, event: Fields, events: readonly ChatEvent[]): void {
    const [meaning] = events;
    if (meaning === undefined || events.length > 1 || !isPiece(meaning)) return;
    if (meaning.text !== event.delta || this.#useless >= maxUseless) return;
    // It was cut by the network, for instance.
    const known = this.#template;
    if (known !== null && boundsIn(`data: ${data}\n\n`, 0, known, this.#bounds)) return;
    this.#useless += 1;
    this.#template = templateOf(data, event, meaning, this.#wireOf) ?? known;
  }

  /** Adds the events like the template to `events`, and returns how much of the text they take. */
  readCommon(text: string, events: ChatEvent[]): number {
    const template = this.#template;
    if (template === null) return 0;
    const bounds = this.#bounds;
    let taken = 0;
    while (boundsIn(text, taken, template, bounds)) {
      const event = this.#eventIn(text, template);
      if (event === null) break;
      events.push(event);
      taken = bounds[template.data.holes.length * 2] as number;
    }
    if (taken > 0) this.#useless = 0;
    return taken;
  }

  /** Null for one that has to be parsed all the same. An empty text means nothing. */
  #eventIn(text: string, { meaning, wire, deltaHole }: DeltaTemplate): ChatEvent | null {
    const delta = unescaped(text.slice(this.#bounds[deltaHole * 2], this.#bounds[deltaHole * 2 + 1]));
    if (delta === null || delta === '') return null;
    if (wire === null)
      return meaning.type === 'text' ? { type: 'text', text: delta } : { ...meaning, text: delta };
    const written = this.#rewritten(text, wire);
    this.#count += 1;
    return meaning.type === 'text'
      ? { type: 'text', text: delta, wire: written }
      : { ...meaning, text: delta, wire: written };
  }

  #rewritten(text: string, wire: Rewriting): string {
    let written = '';
    for (const part of wire) {
      if (typeof part === 'string') written += part;
      else
        written += part === null ? this.#count : text.slice(this.#bounds[part.from], this.#bounds[part.to]);
    }
    return written;
  }
}

/** Finds the bounds of an event that starts here. False when it is not like the template. */
function boundsIn(
  text: string,
  from: number,
  { data: { pieces, holes }, name }: DeltaTemplate,
  bounds: number[],
): boolean {
  let at = text.startsWith(name, from) ? from + name.length : from;
  for (let index = 0; index < holes.length; index += 1) {
    const piece = pieces[index] as string;
    if (!text.startsWith(piece, at)) return false;
    at += piece.length;
    bounds[index * 2] = at;
    at = endOf(holes[index] as Hole, text, at);
    if (at < 0) return false;
    bounds[index * 2 + 1] = at;
  }
  const last = pieces[holes.length] as string;
  bounds[holes.length * 2] = at + last.length;
  return text.startsWith(last, at);
}

function isPiece(event: ChatEvent): event is Piece {
  return event.type === 'text' || event.type === 'reasoning' || event.type === 'tool_arguments';
}

/**
 * Null when an event has no template. Reading it with samples in the holes proves that they are what they seem to be: not a
 * part of another value, and not overridden by a duplicate key.
 */
function templateOf(
  data: string,
  event: Fields,
  meaning: Piece,
  wireOf: WireOf | null,
): DeltaTemplate | null {
  const found = data.includes('\n') ? null : holesIn(data, event);
  if (found === null) return null;
  const sampled = sampledEvent(event, found.holes);
  if (!isRead(filledWithSamples(found), sampled)) return null;
  const holed = framed(found);
  const wire = wireOf === null ? null : rewriting(holed, wireOf(sampled, samples.sequence_number));
  if (wireOf !== null && wire === null) return null;
  const deltaHole = holed.holes.indexOf('delta');
  return { data: holed, deltaHole, name: `event: ${String(event.type)}\n`, wire, meaning };
}

function framed({ pieces, holes }: Holed): Holed {
  const [first = '', ...others] = pieces;
  const last = others.pop() ?? '';
  return { pieces: [`data: ${first}`, ...others, `${last}\n\n`], holes };
}

/** Null unless each hole is found. */
function holesIn(data: string, event: Fields): Holed | null {
  const holes: { hole: Hole; from: number; to: number }[] = [];
  for (const hole of Object.keys(places) as Hole[]) {
    const found = places[hole].exec(data);
    if (found === null && event[hole] === undefined) continue;
    if (found === null) return null;
    const from = found.index + found[0].length;
    const to = endOf(hole, data, from);
    if (to < 0) return null;
    holes.push({ hole, from, to });
  }
  holes.sort((one, other) => one.from - other.from);
  const pieces = holes.map(({ from }, index) => data.slice(holes[index - 1]?.to ?? 0, from));
  return { pieces: [...pieces, data.slice(holes.at(-1)?.to ?? 0)], holes: holes.map(({ hole }) => hole) };
}

function sampledEvent(event: Fields, holes: readonly Hole[]): Fields {
  return { ...event, ...Object.fromEntries(holes.map((hole) => [hole, samples[hole]])) };
}

function filledWithSamples({ pieces, holes }: Holed): string {
  return pieces.map((piece, index) => piece + String(samples[holes[index] as Hole] ?? '')).join('');
}

function isRead(data: string, event: Fields): boolean {
  return JSON.stringify(parseObject(data, parseJson)) === JSON.stringify(event);
}

/** Null unless every sample is in the rewritten event once, and in the same order. */
function rewriting({ pieces, holes }: Holed, wire: string): Rewriting | null {
  // A client's event has a number even if the provider's has none.
  if (!holes.includes('sequence_number')) return null;
  const parts: (string | null | Stretch)[] = [];
  let rest = wire;
  for (const [index, hole] of holes.entries()) {
    const [before = '', after, ...more] = rest.split(String(samples[hole]));
    if (after === undefined || more.length > 0) return null;
    const last = parts.at(-1);
    // What is between two stretches and does not change belongs to both.
    const isSame = before === pieces[index];
    if (isSame && isStretch(last)) last.to = index * 2;
    else parts.push(before);
    rest = after;
    if (hole === 'sequence_number') parts.push(null);
    else if (isSame && isStretch(last)) last.to = index * 2 + 1;
    else parts.push({ from: index * 2, to: index * 2 + 1 });
  }
  const last = parts.at(-1);
  if (isStretch(last) && rest === pieces[holes.length]) last.to = holes.length * 2;
  else parts.push(rest);
  return parts;
}

function isStretch(part: string | null | Stretch | undefined): part is Stretch {
  return typeof part === 'object' && part !== null;
}

/** Where a hole ends that starts here; -1 when it is not filled as such a hole is. */
function endOf(hole: Hole, text: string, from: number): number {
  return hole === 'sequence_number' ? endOfNumber(text, from) : endOfString(text, from, hole === 'delta');
}

/** The end of the JSON string that continues here; -1 when the text ends before it, or it needs parsing. */
function endOfString(text: string, from: number, mayBeEscaped: boolean): number {
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return at;
    if (code < 0x20 || (code === 0x5c && !mayBeEscaped)) return -1;
    if (code === 0x5c) at += 1;
  }
  return -1;
}

/** The end of the whole number that starts here; -1 when there is none. */
function endOfNumber(text: string, from: number): number {
  let at = from;
  while (at < text.length && isDigit(text.charCodeAt(at))) at += 1;
  const isWhole = at > from && at - from < 16 && (text.charCodeAt(from) !== 0x30 || at === from + 1);
  return isWhole ? at : -1;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** The text of a JSON string; null when it is not valid. */
function unescaped(raw: string): string | null {
  if (!raw.includes('\\')) return raw;
  try {
    return parseJson(`"${raw}"`) as string;
  } catch {
    return null;
  }
}
