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
  const lines = new Map<string, number>();
  const lineAt = (offset: number | undefined) => Math.max(1, lineCounter.linePos(offset ?? 0).line);

  for (const fault of [...document.errors, ...document.warnings]) {
    problems.push({ line: lineAt(fault.pos[0]), path: [], text: `not valid YAML: ${reasonOf(fault)}` });
  }

  // The parser's guess at a broken text would only lead to false problems.
  const isReadable = problems.length === 0;
  const value = isReadable ? convert(document.contents, []) : undefined;
  return { isReadable, value, lineOf, problems };

  function convert(node: unknown, path: Path): unknown {
    if (isMap(node)) return convertMap(node.items, path);
    if (isSeq(node)) {
      return node.items.map((item, index) => {
        const itemPath = [...path, index];
        lines.set(keyOf(itemPath), lineAt(startOf(item) ?? startOf(node)));
        return convert(item, itemPath);
      });
    }
    if (isScalar(node)) return node.value;
    if (node === null) return null;
    problems.push({
      line: lineOf(path),
      path,
      text: 'aliases such as *name are not supported, write the value out',
    });
    return undefined;
  }

  function convertMap(pairs: readonly Pair[], path: Path): unknown {
    const entries = new Map<string, unknown>();
    for (const { key, value: child } of pairs) {
      const line = lineAt(startOf(key));
      if (!isScalar(key)) {
        problems.push({ line, path, text: 'expected every key to be a plain name' });
        continue;
      }
      const name = nameOf(key);
      const childPath = [...path, name];
      const first = lines.get(keyOf(childPath));
      if (entries.has(name)) {
        problems.push({ line, path: childPath, text: `given twice, first on line ${first}` });
        continue;
      }
      lines.set(keyOf(childPath), line);
      entries.set(name, convert(child, childPath));
    }
    return isMappingOfData(path) ? entries : objectOf(entries);
  }

  /** The line of a value, or of its nearest parent when it is missing. */
  function lineOf(path: Path): number {
    for (let length = path.length; length > 0; length -= 1) {
      const line = lines.get(keyOf(path.slice(0, length)));
      if (line !== undefined) return line;
    }
    return 1;
  }
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
