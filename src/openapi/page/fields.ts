/** The fields of a schema as a list with expandable details. */
import type { JsonSchema } from '../json-schema.ts';
import { inline, plain } from './markup.ts';

export type Components = Readonly<Record<string, JsonSchema>>;

/** Whose fields are shown: in a request the required ones are marked, in a response the optional ones. */
export type View = Readonly<{ components: Components; side: 'request' | 'response' }>;

type Variant = Readonly<{ title: string; schema: JsonSchema }>;

export function fieldList(schema: JsonSchema, view: View): string {
  const { properties = {}, required = [] } = schema as {
    properties?: Readonly<Record<string, JsonSchema>>;
    required?: readonly string[];
  };
  const items = Object.entries(properties).map(([name, field]) =>
    fieldItem(name, field, required.includes(name), view),
  );
  return `<ul class="fields">${items.join('\n')}</ul>`;
}

export function fieldItem(name: string, field: JsonSchema, isRequired: boolean, view: View): string {
  const { components } = view;
  const whole = resolve(field, components);
  // A field with only one value needs no description.
  const description = whole.const === undefined ? String(field.description ?? whole.description ?? '') : '';
  const inner = variantsIn(field, components).map(({ title, schema }) => variantDetails(title, schema, view));
  return `<li>
<div class="field"><code class="field-name">${plain(name)}</code> <span class="type">${typeOf(field, components)}</span>${mark(isRequired, view)}</div>
${description === '' ? '' : `<div class="about">${inline(description)}</div>`}
${inner.join('\n')}
</li>`;
}

function mark(isRequired: boolean, { side }: View): string {
  if (side === 'request') return isRequired ? ' <span class="required">required</span>' : '';
  return isRequired ? '' : ' <span class="type">optional</span>';
}

function variantDetails(title: string, schema: JsonSchema, view: View): string {
  return `<details class="inner"><summary>${plain(title)}</summary>${fieldList(schema, view)}</details>`;
}

/** Follows a reference to a component. */
export function resolve(schema: JsonSchema, components: Components): JsonSchema {
  const { $ref } = schema;
  return typeof $ref === 'string' ? (components[nameIn($ref)] ?? schema) : schema;
}

function nameIn(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

function alternativesOf(schema: JsonSchema): readonly JsonSchema[] | null {
  return (schema.anyOf ?? schema.oneOf ?? null) as readonly JsonSchema[] | null;
}

/** The objects that a field can hold, however deep in lists and alternatives, each with a title. */
function variantsIn(schema: JsonSchema, components: Components): Variant[] {
  const whole = resolve(schema, components);
  const alternatives = alternativesOf(whole);
  if (alternatives !== null) return alternatives.flatMap((one) => variantsIn(one, components));
  if (whole.type === 'array') return variantsIn(whole.items as JsonSchema, components);
  if (whole.properties === undefined) return [];
  return [{ title: titleOf(schema, whole), schema: whole }];
}

function titleOf(schema: JsonSchema, whole: JsonSchema): string {
  if (typeof schema.$ref === 'string') return `Fields of ${spaced(nameIn(schema.$ref))}`;
  const [constant] = Object.values(whole.properties as Readonly<Record<string, JsonSchema>>)
    .map((field) => field.const)
    .filter((value) => value !== undefined && value !== 'function');
  return constant === undefined ? 'Fields' : `Fields of ${String(constant)}`;
}

/** `JsonSchemaFormat` reads better as `json schema format`. */
function spaced(name: string): string {
  return name.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
}

/** As text: `string or null`, `list of integers from 0`, `"a" or "b"`. */
function typeOf(schema: JsonSchema, components: Components): string {
  const whole = resolve(schema, components);
  const alternatives = alternativesOf(whole);
  if (alternatives !== null) return joined([...new Set(alternatives.map((one) => typeOf(one, components)))]);
  if (whole.const !== undefined) return literal(whole.const);
  if (Array.isArray(whole.enum)) return whole.enum.length > 8 ? 'string' : joined(whole.enum.map(literal));
  if (whole.type === 'array')
    return `list of ${plural(typeOf(whole.items as JsonSchema, components))}${listBounds(whole)}`;
  if (whole.type === 'object' && whole.additionalProperties) return 'object of numbers by name';
  const types = Array.isArray(whole.type) ? whole.type.map(String) : [String(whole.type ?? 'any')];
  return joined(types) + numberRange(whole);
}

function literal(value: unknown): string {
  return `<code>${plain(JSON.stringify(value))}</code>`;
}

function joined(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} or ${last}`;
}

function plural(words: string): string {
  return /^[a-z]+$/.test(words) ? `${words}s` : words;
}

function listBounds({ minItems, maxItems }: JsonSchema): string {
  return maxItems === undefined || minItems === maxItems
    ? ''
    : ` (${Number(minItems ?? 0)} to ${Number(maxItems)})`;
}

/** A minimum of zero goes without saying for a count. */
function numberRange(schema: JsonSchema): string {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, default: initial } = schema;
  const isPlainCount = minimum === 0 && maximum === undefined && exclusiveMaximum === undefined;
  return [
    phrase('from', isPlainCount ? undefined : minimum),
    phrase('above', exclusiveMinimum),
    phrase('to', maximum),
    phrase('to below', exclusiveMaximum),
    initial === undefined ? '' : `, ${String(initial)} by default`,
  ].join('');
}

function phrase(word: string, bound: unknown): string {
  return bound === undefined ? '' : ` ${word} ${String(bound)}`;
}
