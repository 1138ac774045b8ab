/** Parses the catalogue: from YAML to providers, models and prices, or to the problems it has, each with its line. */
import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { type PublicPricing, presentPriceAsText } from '../pricing/present.ts';
import type { PriceList } from '../pricing/price-list-store.ts';
import { keyOf, maxProblems, type Path, type Problem, readYaml, type Source } from './catalog-yaml.ts';
import { faultsOf, matching, mismatch } from './fields.ts';
import type { Catalog, Model, Provider } from './model.ts';
import { modelId, modelOf, modelSchema } from './model-schema.ts';
import { modelsOfGroup, priceGroup, priceGroupName } from './price-group-schema.ts';
import { providerId, providerSchema } from './provider-schema.ts';

export type CatalogResult =
  | Readonly<{ ok: true; catalog: Catalog }>
  | Readonly<{ ok: false; problems: readonly string[] }>;

const priceVersion = matching(/^[\x21-\x7e]{1,64}$/, 'a label in quotes such as "2026-11"');
const rootFields = ['price_version', 'providers', 'models', 'price_groups'];

/** Pure. `fileName` is only the prefix of each problem. */
export function parseCatalog(text: string, fileName: string): CatalogResult {
  const source = readYaml(text);
  const problems: Problem[] = [...source.problems];
  const catalog = source.isReadable ? readCatalog(source, problems) : null;
  if (catalog !== null && problems.length === 0) return { ok: true, catalog };
  const inOrder = problems.toSorted((one, other) => one.line - other.line);
  return { ok: false, problems: inOrder.map((problem) => sentenceOf(problem, fileName)) };
}

function readCatalog(source: Source, problems: Problem[]): Catalog | null {
  const root = source.value;
  if (!isObject(root)) {
    const text = mismatch(`a mapping with the fields ${rootFields.join(', ')}`, root);
    problems.push({ line: 1, path: [], text });
    return null;
  }
  const reader = readerOf(root, source, problems);
  const { entriesOf, read, add } = reader;
  for (const name of Object.keys(root)) {
    if (!rootFields.includes(name)) add([name], `unknown field, expected one of ${rootFields.join(', ')}`);
  }
  const version = read(priceVersion, root.price_version, ['price_version']);

  const providers = new Map<string, Provider>();
  for (const [id, raw] of entriesOf('providers')) {
    read(providerId, id, ['providers', id]);
    const provider = read(providerSchema(id), raw, ['providers', id]);
    if (provider !== undefined) providers.set(id, provider);
  }

  const models = new Map<string, Model>();
  // An invalid provider still exists: models that name it must not be reported as well.
  const providerIds = [...entriesOf('providers').keys()];
  const adapters = new Map(providerIds.map((id) => [id, providers.get(id)?.adapter ?? null]));
  const schema = modelSchema(adapters);
  for (const [id, raw] of entriesOf('models')) {
    read(modelId, id, ['models', id]);
    const entry = read(schema, raw, ['models', id]);
    if (entry !== undefined) models.set(id, modelOf(id, entry, providerIds, version ?? ''));
  }

  for (const name of ['providers', 'models']) {
    if (!(root[name] instanceof Map)) add([name], mismatch('a mapping', root[name]));
  }
  if (root.price_groups !== undefined && !(root.price_groups instanceof Map))
    add(['price_groups'], mismatch('a mapping of names to groups', root.price_groups));
  if (version === undefined) return null;
  const catalog = { providers, models, ...labelled(version, models), priceGroups: new Map() };
  return { ...catalog, priceGroups: readPriceGroups(catalog, reader) };
}

function readPriceGroups(catalog: Catalog, { entriesOf, read, add }: Reader): ReadonlyMap<string, Catalog> {
  const groups = new Map<string, Catalog>();
  for (const [name, raw] of entriesOf('price_groups')) {
    const path = ['price_groups', name];
    read(priceGroupName, name, path);
    const entry = read(priceGroup, raw, path);
    if (entry === undefined) continue;
    const priced = modelsOfGroup(catalog.models, entry, (inner, text) => add([...path, ...inner], text));
    groups.set(name, atGroupPrices(catalog, name, priced));
  }
  return groups;
}

type Reader = ReturnType<typeof readerOf>;

/** Reads the parts of the catalogue, and adds what is wrong with them to the problems. */
function readerOf(root: Record<string, unknown>, source: Source, problems: Problem[]) {
  return { entriesOf, read, add };

  function entriesOf(name: string): ReadonlyMap<string, unknown> {
    const value = root[name];
    return value instanceof Map ? value : new Map();
  }

  function read<Value>(schema: z.ZodType<Value>, raw: unknown, path: Path): Value | undefined {
    // Each schema is used a few times, so generating code for it would take longer than the checks.
    const result = schema.safeParse(raw, { jitless: true });
    if (result.success) return result.data;
    for (const fault of faultsOf(result.error)) add([...path, ...fault.path], fault.message);
    return undefined;
  }

  function add(path: Path, text: string): void {
    if (problems.length >= maxProblems) return;
    // One problem per path: the first is the cause, the others only follow from it.
    const isKnown = problems.some((problem) => keyOf(problem.path) === keyOf(path));
    if (!isKnown) problems.push({ line: source.lineOf(path), path, text });
  }
}

function atGroupPrices(catalog: Catalog, name: string, models: ReadonlyMap<string, Model>): Catalog {
  const label = labelled(`${catalog.priceVersion}/${name}`, models);
  return { ...catalog, models, ...label, priceGroups: new Map() };
}

function labelled(priceVersion: string, models: ReadonlyMap<string, Model>) {
  const content = JSON.stringify(priceContentOf(priceVersion, models));
  return { priceVersion, digest: createHash('sha256').update(content).digest('hex') };
}

type PriceListContent = {
  price_version: string;
  models: {
    id: string;
    pricing: PublicPricing<string>;
    /** What providers charge the operator; absent when the catalogue does not say. Never public. */
    costs?: { provider: string; cost: PublicPricing<string> }[];
  }[];
};

/** What to store so that a past charge and its cost can be explained: decimals as strings, ordered by ID. */
export function priceListOf(catalog: Catalog): PriceList & Readonly<{ content: PriceListContent }> {
  const content = priceContentOf(catalog.priceVersion, catalog.models);
  return { version: catalog.priceVersion, digest: catalog.digest, content };
}

function priceContentOf(version: string, models: ReadonlyMap<string, Model>): PriceListContent {
  const priced = [...models.values()].flatMap(({ id, price, routes }) => {
    if (price === null) return [];
    const costs = routes
      .flatMap(({ providerId, cost }) =>
        cost === null ? [] : [{ provider: providerId, cost: presentPriceAsText(cost, version) }],
      )
      .toSorted((one, other) => (one.provider < other.provider ? -1 : 1));
    return [{ id, pricing: presentPriceAsText(price, version), ...(costs.length === 0 ? {} : { costs }) }];
  });
  return { price_version: version, models: priced.toSorted((one, other) => (one.id < other.id ? -1 : 1)) };
}

function sentenceOf({ line, path, text }: Problem, fileName: string): string {
  const where = path
    .map((step, index) => {
      if (typeof step === 'number') return `[${step}]`;
      // Any other character, a line break above all, would make the sentence unreadable.
      const name = /^[\w.:@/+-]+$/.test(step) ? step : JSON.stringify(step);
      return index === 0 ? name : `.${name}`;
    })
    .join('');
  return where === '' ? `${fileName}:${line}: ${text}` : `${fileName}:${line}: ${where}: ${text}`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Map);
}
