/**
 * Tools of the Responses format as functions, and the way back: a free-form tool becomes a function with one parameter,
 * a tool inside a namespace gets a flat name.
 */
import { createHash } from 'node:crypto';
import type { JsonPath } from '../../json/path.ts';
import type { JsonObject, Tool, ToolChoice } from '../../providers/chat.ts';
import { invalid, type Reading, refused } from './reading.ts';
import { fateOfTool, refusedTool } from './refusals.ts';
import { choiceKinds, toolKinds, type WireRequest } from './schema.ts';

/** A tool as the client knows it. */
export type ClientTool = Readonly<{ name: string; namespace: string | null; isFreeForm: boolean }>;

/** By the flat name, tools that are not plain functions. */
export type ToolNames = ReadonlyMap<string, ClientTool>;

const maxFlatName = 64;
const separator = '__';

/** The same in every turn, whatever other tools there are. What does not fit is shortened and told apart by a hash. */
export function flatName(name: string, namespace: string | null): string {
  const whole = namespace === null ? name : `${namespace}${separator}${name}`;
  if (whole.length <= maxFlatName && /^[a-zA-Z0-9_-]+$/.test(whole)) return whole;
  const hash = createHash('sha256')
    .update(JSON.stringify([namespace, name]))
    .digest('hex')
    .slice(0, 12);
  return `${whole.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, maxFlatName - hash.length - 1)}_${hash}`;
}

/** The parameter of the function that a free-form tool becomes. */
const freeFormParameters = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
} as const satisfies JsonObject;

export type ReadTools = Readonly<{
  tools: readonly Tool[] | null;
  choice: ToolChoice | null;
  names: ToolNames;
  /** Tools for a provider of the same format; null when all of them are. */
  passedOn: readonly JsonObject[] | null;
}>;

type Declared = Tool & Readonly<{ client: ClientTool }>;

export function readTools(reading: Reading, { tools: wire, tool_choice: choice }: WireRequest): ReadTools {
  const declared: Declared[] = [];
  const kept: JsonObject[] = [];
  for (const [index, tool] of (wire ?? []).entries()) {
    const path = ['tools', index];
    const fate = fateOfTool(tool);
    if (fate === 'refused') throw refusedTool(tool, path);
    if (fate !== 'dropped') kept.push(tool);
    if (fate === 'passed_on') reading.count(tool);
    if (fate === 'kept') declared.push(...readTool(reading, tool, path));
  }
  checkNames(declared);
  const chosen = readChoice(reading, choice ?? null, declared);
  const names = new Map<string, ClientTool>();
  for (const { name, client } of declared)
    if (client.isFreeForm || client.namespace !== null) names.set(name, client);
  return {
    tools: chosen.tools.length === 0 ? null : chosen.tools.map(withoutClient),
    choice: chosen.choice,
    names,
    passedOn: kept.length === (wire?.length ?? 0) ? null : kept,
  };
}

function withoutClient({ name, description, parameters, strict }: Declared): Tool {
  return { name, description, parameters, strict };
}

function readTool(reading: Reading, tool: JsonObject, path: JsonPath): readonly Declared[] {
  if (tool.type !== 'namespace') return [readSingle(reading, tool, path, null)];
  const { name, description, tools } = reading.check(toolKinds.namespace, tool, path);
  if (tools.length === 0) reading.count(description);
  return tools.map((inner, index) => {
    const place = [...path, 'tools', index];
    if (inner.type !== 'function' && inner.type !== 'custom') throw refusedTool(inner, place);
    const declared = readSingle(reading, inner, place, name);
    // Once is enough for the model to know what all of them are for.
    if (index > 0 || description == null) return declared;
    return { ...declared, description: joined(description, declared.description) };
  });
}

function readSingle(reading: Reading, tool: JsonObject, path: JsonPath, namespace: string | null): Declared {
  if (tool.type === 'custom') {
    const { name, description, format } = reading.check(toolKinds.custom, tool, path);
    const grammar =
      format?.type === 'grammar'
        ? `The input must match this ${format.syntax === 'lark' ? 'Lark grammar' : 'regular expression'}:\n${format.definition}`
        : null;
    return {
      name: flatName(name, namespace),
      description: joined(description ?? null, grammar),
      parameters: freeFormParameters,
      strict: null,
      client: { name, namespace, isFreeForm: true },
    };
  }
  const { name, description, parameters, strict, output_schema } = reading.check(
    toolKinds.function,
    tool,
    path,
  );
  reading.count(output_schema);
  return {
    name: flatName(name, namespace),
    description: description ?? null,
    parameters: parameters ?? null,
    strict: strict ?? null,
    client: { name, namespace, isFreeForm: false },
  };
}

function joined(first: string | null, second: string | null): string | null {
  return first === null || second === null ? (first ?? second) : `${first}\n\n${second}`;
}

function checkNames(declared: readonly Declared[]): void {
  if (new Set(declared.map(({ name }) => name)).size < declared.length)
    throw invalid(['tools'], 'Two tools have the same name.');
}

type Chosen = Readonly<{ tools: readonly Declared[]; choice: ToolChoice | null }>;

function readChoice(
  reading: Reading,
  choice: NonNullable<WireRequest['tool_choice']> | null,
  declared: readonly Declared[],
): Chosen {
  if (choice === null) return { tools: declared, choice: null };
  if (typeof choice === 'string') {
    if (choice === 'required' && declared.length === 0)
      throw invalid(['tool_choice'], 'The tool_choice "required" needs at least one tool.');
    // How to use tools means nothing without any, and some providers reject it then.
    return { tools: declared, choice: declared.length === 0 ? null : choice };
  }
  const path = ['tool_choice'];
  if (choice.type === 'allowed_tools') return allowedTools(reading, choice, path, declared);
  const [tool] = choice.type === 'namespace' ? [] : new NamedTools(reading, declared).named(choice, path);
  if (tool === undefined) throw refusedChoice(choice, path);
  return { tools: declared, choice: { functionName: tool.name } };
}

function allowedTools(
  reading: Reading,
  choice: JsonObject,
  path: JsonPath,
  declared: readonly Declared[],
): Chosen {
  const { mode, tools } = reading.check(choiceKinds.allowed, choice, path);
  const named = new NamedTools(reading, declared);
  const allowed = new Set<Declared>();
  for (const [index, tool] of tools.entries())
    for (const found of named.named(tool, [...path, 'tools', index])) allowed.add(found);
  // A provider of the same format has the others in its prompt too, so that a cache still matches.
  for (const tool of declared) if (!allowed.has(tool)) reading.count(withoutClient(tool));
  if (allowed.size === 0) throw invalid([...path, 'tools'], 'None of these tools is declared in tools.');
  return { tools: declared.filter((tool) => allowed.has(tool)), choice: mode };
}

/** Finds tools by what a client calls them. A list of them can be as long as the list of tools, so each is looked up once. */
class NamedTools {
  readonly #reading: Reading;
  readonly #byName: ReadonlyMap<string, readonly Declared[]>;
  readonly #byNamespace: ReadonlyMap<string | null, readonly Declared[]>;
  readonly #byBoth: ReadonlyMap<string, readonly Declared[]>;
  readonly #found = new Set<string>();

  constructor(reading: Reading, declared: readonly Declared[]) {
    this.#reading = reading;
    this.#byName = Map.groupBy(declared, ({ client }) => client.name);
    this.#byNamespace = Map.groupBy(declared, ({ client }) => client.namespace);
    this.#byBoth = Map.groupBy(declared, ({ client }) => JSON.stringify([client.name, client.namespace]));
  }

  /** None for a built-in tool, which is never offered to a model, and for one that was found before. */
  named(choice: JsonObject, path: JsonPath): readonly Declared[] {
    const isNamespace = choice.type === 'namespace' && typeof choice.name === 'string';
    if (!isNamespace && choice.type !== 'function' && choice.type !== 'custom') return [];
    const identity = JSON.stringify([choice.type, choice.name, choice.namespace]);
    if (this.#found.has(identity)) return [];
    this.#found.add(identity);
    if (isNamespace) return this.#byNamespace.get(choice.name as string) ?? [];
    const { type, name, namespace = null } = this.#reading.check(choiceKinds.named, choice, path);
    const known =
      namespace === null ? this.#byName.get(name) : this.#byBoth.get(JSON.stringify([name, namespace]));
    const found = (known ?? []).filter(({ client }) => client.isFreeForm === (type === 'custom'));
    if (found.length === 0)
      throw invalid([...path, 'name'], 'The tool named by tool_choice is not declared in tools.');
    return found;
  }
}

function refusedChoice({ type }: JsonObject, path: JsonPath): Error {
  const known = typeof type === 'string' ? ` of the type "${type.slice(0, 40)}"` : '';
  return refused(
    path,
    `A tool_choice${known} is not supported: use "auto", "none", "required", or name a function.`,
    'responses#tools',
  );
}
