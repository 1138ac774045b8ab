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

type DeltaTemplate = Readonly<{
  /** An event, from its data on. */
  data: Holed;
  /** Its name, in front of the data. Servers may leave it out. */
  name: string;
  /** What it becomes for the client; null for clients of other formats. */
  wire: Holed | null;
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
    if (this.#template !== null && match(this.#template, `data: ${data}\n\n`, 0) !== null) return;
    this.#useless += 1;
    this.#template = templateOf(data, event, meaning, this.#wireOf) ?? this.#template;
  }

  /** Adds the events like the template to `events`, and returns how much of the text they take. */
  readCommon(text: string, events: ChatEvent[]): number {
    if (this.#template === null) return 0;
    let taken = 0;
    for (;;) {
      const found = match(this.#template, text, taken);
      if (found === null) break;
      events.push(this.#eventOf(this.#template, found));
      taken = found.end;
    }
    if (taken > 0) this.#useless = 0;
    return taken;
  }

  #eventOf({ meaning, wire }: DeltaTemplate, { text, delta, padding }: Match): ChatEvent {
    if (wire === null) return meaning.type === 'text' ? { type: 'text', text } : { ...meaning, text };
    let written = wire.pieces[0] ?? '';
    for (let index = 0; index < wire.holes.length; index += 1) {
      const hole = wire.holes[index];
      const value = hole === 'delta' ? delta : hole === 'obfuscation' ? padding : this.#count;
      written += `${value}${wire.pieces[index + 1]}`;
    }
    this.#count += 1;
    return meaning.type === 'text'
      ? { type: 'text', text, wire: written }
      : { ...meaning, text, wire: written };
  }
}

/** Where an event ends, its text, and what is in its holes as written. */
type Match = Readonly<{ end: number; text: string; delta: string; padding: string }>;

/** The event that starts here; null when it is not like the template. */
function match({ data, name }: DeltaTemplate, text: string, from: number): Match | null {
  let at = text.startsWith(name, from) ? from + name.length : from;
  let delta = '';
  let padding = '';
  for (let index = 0; index < data.pieces.length; index += 1) {
    const piece = data.pieces[index] as string;
    if (!text.startsWith(piece, at)) return null;
    at += piece.length;
    const hole = data.holes[index];
    if (hole === undefined) break;
    const end = hole === 'sequence_number' ? endOfNumber(text, at) : endOfString(text, at);
    if (end < 0) return null;
    if (hole === 'delta') delta = text.slice(at, end);
    else if (hole === 'obfuscation') padding = text.slice(at, end);
    at = end;
  }
  const written = unescaped(delta);
  // An empty text means nothing, and a padding that needs parsing is no padding.
  return written === null || written === '' || padding.includes('\\')
    ? null
    : { end: at, text: written, delta, padding };
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
  const wire = wireOf === null ? null : holesOfSamples(wireOf(sampled, samples.sequence_number), found.holes);
  if (wireOf !== null && wire === null) return null;
  const [first = '', ...others] = found.pieces;
  const last = others.pop() ?? '';
  return {
    data: { pieces: [`data: ${first}`, ...others, `${last}\n\n`], holes: found.holes },
    name: `event: ${String(event.type)}\n`,
    wire,
    meaning,
  };
}

/** Null unless each hole is found. */
function holesIn(data: string, event: Fields): Holed | null {
  const holes: { hole: Hole; from: number; to: number }[] = [];
  for (const hole of Object.keys(places) as Hole[]) {
    const found = places[hole].exec(data);
    if (found === null && event[hole] === undefined) continue;
    if (found === null) return null;
    const from = found.index + found[0].length;
    const to = hole === 'sequence_number' ? endOfNumber(data, from) : endOfString(data, from);
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

/** The number is always there, because every event that a client gets has one. Null unless each sample is found once. */
function holesOfSamples(wire: string, given: readonly Hole[]): Holed | null {
  const found: { hole: Hole; from: number }[] = [];
  for (const hole of new Set<Hole>([...given, 'sequence_number'])) {
    const sample = String(samples[hole]);
    const from = wire.indexOf(sample);
    if (from < 0 || wire.includes(sample, from + 1)) return null;
    found.push({ hole, from });
  }
  found.sort((one, other) => one.from - other.from);
  const ends = found.map(({ hole, from }) => from + String(samples[hole]).length);
  const pieces = found.map(({ from }, index) => wire.slice(ends[index - 1] ?? 0, from));
  return { pieces: [...pieces, wire.slice(ends.at(-1) ?? 0)], holes: found.map(({ hole }) => hole) };
}

/** The end of the JSON string that continues here; -1 when the text ends before it. */
function endOfString(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return at;
    if (code < 0x20) return -1;
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
