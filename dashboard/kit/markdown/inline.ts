/**
 * The inline part of Markdown: emphasis, code and links. Models write it, so nothing in it is trusted: there is no HTML,
 * only web addresses become links, and one pass over the text with a stack of bounded depth keeps the work linear.
 */
export type Inline =
  | Readonly<{ kind: 'text'; text: string }>
  | Readonly<{ kind: 'code'; text: string }>
  | Readonly<{ kind: 'strong' | 'emphasis' | 'deleted'; content: readonly Inline[] }>
  | Readonly<{ kind: 'link'; href: string; content: readonly Inline[] }>;

/** An opening marker that may still be closed, with what followed it. */
type Frame = { marker: string; content: Inline[] };

const maxDepth = 12;
const maxAddressLength = 2_000;
const maxParentheses = 8;
const kinds = new Map([
  ['*', 'emphasis'],
  ['_', 'emphasis'],
  ['**', 'strong'],
  ['__', 'strong'],
  ['~~', 'deleted'],
] as const);

export function parseInline(text: string): readonly Inline[] {
  return new InlineParser(text).parse();
}

class InlineParser {
  readonly #text: string;
  readonly #ticks: TickRuns;
  readonly #frames: Frame[] = [{ marker: '', content: [] }];
  #at = 0;
  #pending = '';

  constructor(text: string) {
    this.#text = text;
    this.#ticks = new TickRuns(text);
  }

  parse(): readonly Inline[] {
    while (this.#at < this.#text.length) this.#at = this.#step();
    this.#flush();
    while (this.#frames.length > 1) this.#giveUpLast();
    return this.#last.content;
  }

  get #last(): Frame {
    return this.#frames.at(-1) as Frame;
  }

  /** Reads one element, and returns where the rest starts, as do the methods for each kind. */
  #step(): number {
    const char = this.#text.charAt(this.#at);
    switch (char) {
      case '\\':
        return this.#escape();
      case '`':
        return this.#code();
      case '*':
      case '_':
      case '~':
        return this.#emphasis(char);
      case '[':
        return this.#open('[');
      case '!':
        // An image becomes a link: showing it would tell its host who reads this.
        return this.#text.charAt(this.#at + 1) === '[' ? this.#open('![') : this.#take(1);
      case ']':
        return this.#closeLink();
      case 'h':
        return this.#bareAddress();
      default:
        return this.#take(1);
    }
  }

  /** Plain text. */
  #take(length: number): number {
    this.#pending += this.#text.slice(this.#at, this.#at + length);
    return this.#at + length;
  }

  #flush(): void {
    if (this.#pending === '') return;
    this.#last.content.push({ kind: 'text', text: this.#pending });
    this.#pending = '';
  }

  #add(node: Inline): void {
    this.#flush();
    this.#last.content.push(node);
  }

  #escape(): number {
    const next = this.#text.charAt(this.#at + 1);
    if (!/[!-/:-@[-`{-~]/.test(next)) return this.#take(1);
    this.#pending += next;
    return this.#at + 2;
  }

  #code(): number {
    const length = runLength(this.#text, this.#at);
    const start = this.#at + length;
    const end = this.#ticks.next(length, start);
    if (end === null) return this.#take(length);
    const inner = this.#text.slice(start, end).replaceAll('\n', ' ');
    const isPadded = inner.startsWith(' ') && inner.endsWith(' ') && inner.trim() !== '';
    this.#add({ kind: 'code', text: isPadded ? inner.slice(1, -1) : inner });
    return end + length;
  }

  #emphasis(char: string): number {
    const length = runLength(this.#text, this.#at);
    const before = this.#text.charAt(this.#at - 1);
    const after = this.#text.charAt(this.#at + length);
    if (char === '~' && length !== 2) return this.#take(length);
    // An underscore within a word is part of a name, such as snake_case.
    const isInWord = char === '_' && isWordCharacter(before) && isWordCharacter(after);
    const canClose = before.trim() !== '' && !isInWord && !(char === '_' && isWordCharacter(after));
    const canOpen = after.trim() !== '' && !isInWord && !(char === '_' && isWordCharacter(before));
    let left = length;
    while (canClose && left > 0) {
      const place = this.#frames.findLastIndex(
        ({ marker }) => marker.startsWith(char) && marker.length <= left,
      );
      if (place < 0 || this.#isEmpty(place)) break;
      left -= this.#close(place);
    }
    while (canOpen && left > 0 && this.#frames.length <= maxDepth) {
      const marker = char.repeat(Math.min(left, 2));
      this.#push(marker);
      left -= marker.length;
    }
    this.#pending += char.repeat(left);
    return this.#at + length;
  }

  #isEmpty(place: number): boolean {
    return place === this.#frames.length - 1 && this.#last.content.length === 0 && this.#pending === '';
  }

  #push(marker: string): void {
    this.#flush();
    this.#frames.push({ marker, content: [] });
  }

  /** Returns the length of the marker that was closed. */
  #close(place: number): number {
    const { marker, content } = this.#pop(place);
    const kind = kinds.get(marker as '*');
    if (kind !== undefined) this.#last.content.push({ kind, content });
    return marker.length;
  }

  /** Takes a frame from the stack. Markers after it that were never closed are text. */
  #pop(place: number): Frame {
    this.#flush();
    while (this.#frames.length > place + 1) this.#giveUpLast();
    return this.#frames.pop() as Frame;
  }

  #giveUpLast(): void {
    const { marker, content } = this.#frames.pop() as Frame;
    this.#last.content.push({ kind: 'text', text: marker });
    for (const node of content) this.#last.content.push(node);
  }

  #open(marker: '[' | '!['): number {
    if (this.#frames.length > maxDepth) return this.#take(marker.length);
    this.#push(marker);
    return this.#at + marker.length;
  }

  #closeLink(): number {
    const place = this.#frames.findLastIndex(({ marker }) => marker === '[' || marker === '![');
    const found = place < 0 ? null : addressAfter(this.#text, this.#at + 1);
    if (found === null) {
      // It can no longer become a link.
      if (place >= 0) {
        this.#flush();
        while (this.#frames.length > place) this.#giveUpLast();
      }
      return this.#take(1);
    }
    const { content } = this.#pop(place);
    const shown =
      content.length === 0 ? [{ kind: 'text' as const, text: found.href }] : withoutLinks(content);
    this.#last.content.push({ kind: 'link', href: found.href, content: shown });
    return found.end;
  }

  #bareAddress(): number {
    const isStart =
      !isWordCharacter(this.#text.charAt(this.#at - 1)) &&
      (this.#text.startsWith('http://', this.#at) || this.#text.startsWith('https://', this.#at));
    if (!isStart) return this.#take(1);
    const rest = this.#text.slice(this.#at, this.#at + maxAddressLength);
    const written = /^[^\s<>"'`*|\\^{}[\]()]+/.exec(rest)?.[0].replace(/[.,:;!?_~]{1,20}$/, '') ?? '';
    const href = webAddress(written);
    if (href === null) return this.#take(Math.max(written.length, 1));
    this.#add({ kind: 'link', href, content: [{ kind: 'text', text: written }] });
    return this.#at + written.length;
  }
}

/** A link within a link would be invalid HTML: the outer one stays. */
function withoutLinks(content: readonly Inline[]): readonly Inline[] {
  return content.flatMap((node): readonly Inline[] => {
    if (node.kind === 'link') return withoutLinks(node.content);
    return 'content' in node ? [{ ...node, content: withoutLinks(node.content) }] : [node];
  });
}

/** The address in parentheses that makes a link of the brackets before it, if it is that of a web page. */
function addressAfter(text: string, start: number): Readonly<{ href: string; end: number }> | null {
  if (text.charAt(start) !== '(') return null;
  const rest = text.slice(start + 1, start + 1 + maxAddressLength);
  let depth = 0;
  for (let at = 0; at < rest.length; at += 1) {
    const char = rest.charAt(at);
    if (char === '\n' || depth > maxParentheses) return null;
    if (char === '(') depth += 1;
    if (char !== ')') continue;
    if (depth === 0) {
      // A title may follow the address.
      const [address = ''] = rest.slice(0, at).trim().split(/\s/, 1);
      const href = webAddress(address.replace(/^<|>$/g, ''));
      return href === null ? null : { href, end: start + at + 2 };
    }
    depth -= 1;
  }
  return null;
}

/** Null unless it is the address of a web page: not for `javascript:`. */
export function webAddress(text: string): string | null {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return null;
  const { protocol, href } = new URL(text);
  return protocol === 'http:' || protocol === 'https:' ? href : null;
}

function isWordCharacter(char: string): boolean {
  return /^[\p{L}\p{N}]$/u.test(char);
}

function runLength(text: string, start: number): number {
  const char = text.charAt(start);
  let end = start + 1;
  while (text.charAt(end) === char) end += 1;
  return end - start;
}

/** Where runs of backticks are, by their length: code ends at the next run that is as long as its first. */
class TickRuns {
  readonly #places = new Map<number, { starts: number[]; next: number }>();

  constructor(text: string) {
    for (let at = text.indexOf('`'); at >= 0; ) {
      const length = runLength(text, at);
      const known = this.#places.get(length) ?? { starts: [], next: 0 };
      known.starts.push(at);
      this.#places.set(length, known);
      at = text.indexOf('`', at + length);
    }
  }

  /** The first run of this length that starts at `from` or later. `from` never decreases. */
  next(length: number, from: number): number | null {
    const known = this.#places.get(length);
    if (known === undefined) return null;
    while ((known.starts[known.next] ?? Number.POSITIVE_INFINITY) < from) known.next += 1;
    return known.starts[known.next] ?? null;
  }
}
