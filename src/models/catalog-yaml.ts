/** Turns YAML into plain values and remembers the line of each, so that a problem can be located. */
import {
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  parseDocument,
  type Scalar,
  type YAMLError,
} from 'yaml';

export type Path = readonly (string | number)[];
/** `line` is 1-based. */
export type Problem = Readonly<{ line: number; path: Path; text: string }>;
export type Source = Readonly<{
  /** False when the text is not YAML; there is no value to check then. */
  isReadable: boolean;
  value: unknown;
  lineOf: (path: Path) => number;
  problems: readonly Problem[];
}>;

/** More would not be read, and each is as long as the names that lead to it. */
export const maxProblems = 100;
/** Far above what a catalogue needs. A text of a stranger, which may be posted to be checked, must cost little. */
const maxNameLength = 200;
const maxDepth = 16;

/** The line of a value, and those of what is in it. A tree, so that it is never larger than the text. */
type Place = Readonly<{ line: number; children: Map<string | number, Place> }>;

/** Mappings whose names the operator chooses; `*` stands for any name or place. They become maps, all others objects. */
const mappingsOfData = [
  ['providers'],
  ['providers', '*', 'cost_report', 'models'],
  ['models'],
  ['models', '*', 'sizes'],
  ['models', '*', 'pricing', 'tier_rates'],
  ['models', '*', 'pricing', 'basis', 'rates'],
  ['models', '*', 'providers', '*', 'cost', 'tier_rates'],
  ['models', '*', 'providers', '*', 'cost', 'basis', 'rates'],
  ['price_groups'],
  ['price_groups', '*', 'models'],
  ['price_groups', '*', 'models', '*', 'tier_rates'],
  ['price_groups', '*', 'models', '*', 'basis', 'rates'],
];

export function readYaml(text: string): Source {
  const lineCounter = new LineCounter();
  // Duplicate keys are found below, as written, because there the problem can name the path and the first line.
  const document = parseDocument(text, { lineCounter, prettyErrors: false, uniqueKeys: false });
  const problems: Problem[] = [];
  const root = placeAt(1);
  const lineAt = (offset: number | undefined) => Math.max(1, lineCounter.linePos(offset ?? 0).line);

  for (const fault of [...document.errors, ...document.warnings]) {
    add({ line: lineAt(fault.pos[0]), path: [], text: `not valid YAML: ${reasonOf(fault)}` });
  }

  // The parser's guess at a broken text would only lead to false problems.
  const isReadable = problems.length === 0;
  const value = isReadable ? convert(document.contents, [], root) : undefined;
  return { isReadable, value, lineOf: (path) => lineIn(root, path), problems };

  function add(problem: Problem): void {
    if (problems.length < maxProblems) problems.push(problem);
  }

  function convert(node: unknown, path: Path, place: Place): unknown {
    if (isScalar(node)) return node.value;
    if (node === null) return null;
    if (!isMap(node) && !isSeq(node)) {
      const text = 'aliases such as *name are not supported, write the value out';
      add({ line: place.line, path, text });
      return undefined;
    }
    if (path.length >= maxDepth) {
      add({ line: place.line, path, text: `nested too deep, at most ${maxDepth} levels are allowed` });
      return undefined;
    }
    if (isMap(node)) return convertMap(node.items, path, place);
    return node.items.map((item, index) => {
      const itemPlace = placeAt(lineAt(startOf(item) ?? startOf(node)));
      place.children.set(index, itemPlace);
      return convert(item, [...path, index], itemPlace);
    });
  }

  function convertMap(pairs: readonly Pair[], path: Path, place: Place): unknown {
    const entries = new Map<string, unknown>();
    for (const { key, value: child } of pairs) {
      const line = lineAt(startOf(key));
      if (!isScalar(key)) {
        add({ line, path, text: 'expected every key to be a plain name' });
        continue;
      }
      const name = nameOf(key);
      if (name.length > maxNameLength) {
        add({ line, path, text: `expected every key to have at most ${maxNameLength} characters` });
        continue;
      }
      const childPath = [...path, name];
      const first = place.children.get(name);
      if (first !== undefined) {
        add({ line, path: childPath, text: `given twice, first on line ${first.line}` });
        continue;
      }
      const childPlace = placeAt(line);
      place.children.set(name, childPlace);
      entries.set(name, convert(child, childPath, childPlace));
    }
    return isMappingOfData(path) ? entries : objectOf(entries);
  }
}

/** The line of a value, or of its nearest parent when it is missing. */
function lineIn(root: Place, path: Path): number {
  let place = root;
  for (const step of path) {
    const child = place.children.get(step);
    if (child === undefined) break;
    place = child;
  }
  return place.line;
}

function placeAt(line: number): Place {
  return { line, children: new Map() };
}

function reasonOf(fault: YAMLError): string {
  // The library's own message addresses a programmer here.
  return fault.code === 'MULTIPLE_DOCS' ? 'expected a single document, without ---' : fault.message;
}

/** As it is written: a tier called 010 or a model called true stays exactly that. */
function nameOf({ type, source, value }: Scalar): string {
  return type === 'PLAIN' && source !== undefined ? source : String(value);
}

/** Without a prototype, so that no key can reach one. */
function objectOf(entries: ReadonlyMap<string, unknown>): Record<string, unknown> {
  const object: Record<string, unknown> = Object.create(null);
  for (const [name, value] of entries) object[name] = value;
  return object;
}

function isMappingOfData(path: Path): boolean {
  return mappingsOfData.some(
    (pattern) =>
      pattern.length === path.length && pattern.every((step, index) => step === '*' || step === path[index]),
  );
}

/** Equal for equal paths and for no others. */
export function keyOf(path: Path): string {
  return JSON.stringify(path);
}

function startOf(node: unknown): number | undefined {
  if (typeof node !== 'object' || node === null || !('range' in node)) return undefined;
  return Array.isArray(node.range) && typeof node.range[0] === 'number' ? node.range[0] : undefined;
}
