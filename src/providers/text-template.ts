/**
 * Recognises the common chunk of a stream without parsing it. The text chunks of one stream differ in little but their
 * text, so one that has been parsed shows what the next ones look like around it. A chunk that differs in anything else
 * is not recognised, and is parsed.
 */
import type { ChatEvent } from './chat.ts';

/** An event of a stream, up to its text, from there to its last string, and from there to its end. */
export type TextTemplate = Readonly<{
  before: string;
  between: string;
  /** Null when the chunk does not end with a string. OpenAI's end with one of random length, to hide the text's. */
  after: string | null;
}>;

type Read = (data: string) => readonly ChatEvent[];

const sampleText = 'sample-text';
const sampleEnd = 'sample-end';

/**
 * The template of a chunk; null when it has none. `read` must treat every non-empty text alike, and every last string of
 * the outermost object. Reading the template with samples in place of both proves that they are what they seem to be:
 * that the text is not overridden by a duplicate key, for instance, and not a part of another string.
 */
export function templateOf(data: string, read: Read): TextTemplate | null {
  const name = /"content": ?"/.exec(data);
  if (name === null || /[\r\n]/.test(data) || data.includes(sampleText)) return null;
  const from = name.index + name[0].length;
  const to = data.indexOf('"', from);
  const endsWithString = data.endsWith('"}');
  const lastTo = endsWithString ? data.length - 2 : data.length;
  const lastFrom = endsWithString ? data.lastIndexOf('"', lastTo - 1) + 1 : data.length;
  if (to < 0 || lastFrom <= to) return null;
  const before = data.slice(0, from);
  const between = data.slice(to, lastFrom);
  const after = data.slice(lastTo);
  const sample = before + sampleText + between + (endsWithString ? sampleEnd : '') + after;
  if (!isText(read, sample)) return null;
  return endsWithString
    ? { before: `data: ${before}`, between, after: `${after}\n\n` }
    : { before: `data: ${before}`, between: `${between}\n\n`, after: null };
}

function isText(read: Read, sample: string): boolean {
  try {
    const [event, ...others] = read(sample);
    return event?.type === 'text' && event.text === sampleText && others.length === 0;
  } catch {
    return false;
  }
}

/**
 * Adds the events of chunks like the template to `events`, as long as one follows another from the start of the text.
 * Returns how much of the text they take.
 */
export function readTexts(
  { before, between, after }: TextTemplate,
  text: string,
  events: ChatEvent[],
): number {
  let taken = 0;
  while (text.startsWith(before, taken)) {
    const from = taken + before.length;
    const to = endOfPlain(text, from);
    // Chunks with an empty text have no event.
    if (to <= from || !text.startsWith(between, to)) break;
    let end = to + between.length;
    if (after !== null) {
      end = endOfPlain(text, end);
      if (end < 0 || !text.startsWith(after, end)) break;
      end += after.length;
    }
    events.push({ type: 'text', text: text.slice(from, to) });
    taken = end;
  }
  return taken;
}

/** The end of the JSON string that continues here; -1 when it needs parsing, because not all of it is plain characters. */
function endOfPlain(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return at;
    if (code < 0x20 || code === 0x5c || (code >= 0xd800 && code <= 0xdfff)) return -1;
  }
  return -1;
}

/** Whether a chunk differs from the template only in its text, even if that needs parsing. */
function isLike({ before, between, after }: TextTemplate, data: string): boolean {
  const event = `data: ${data}\n\n`;
  if (!event.startsWith(before)) return false;
  return after === null ? event.endsWith(between) : event.endsWith(after) && event.includes(between);
}

/** After this many templates in a row that matched no chunk, a stream yields no more. */
const maxUseless = 3;

/** The template of one stream, learned from its chunks. */
export class LearnedTemplate {
  #template: TextTemplate | null = null;
  #useless = 0;

  /** Takes the template from a chunk that had to be parsed. `openReader` is for samples. */
  learn(data: string, events: readonly ChatEvent[], openReader: () => Read): void {
    // The next chunk of text also ends the reasoning, so it has to be parsed.
    if (events[0]?.type === 'reasoning') this.#template = null;
    if (events.length !== 1 || events[0]?.type !== 'text' || this.#useless >= maxUseless) return;
    if (this.#template !== null && isLike(this.#template, data)) return;
    this.#useless += 1;
    this.#template = templateOf(data, openReader()) ?? this.#template;
  }

  readTexts(text: string, events: ChatEvent[]): number {
    if (this.#template === null) return 0;
    const taken = readTexts(this.#template, text, events);
    if (taken > 0) this.#useless = 0;
    return taken;
  }
}
