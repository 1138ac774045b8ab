/** One endpoint on the page: parameters and fields on one side, examples on the other. */
import type { Parameter } from '../endpoints/endpoint.ts';
import type { JsonSchema } from '../json-schema.ts';
import type { MediaType, OpenApiResponse } from '../responses.ts';
import { curl } from './curl.ts';
import { type Components, fieldItem, fieldList, resolve, type View } from './fields.ts';
import { blocks, code, inline, json, plain } from './markup.ts';
import { nodeSample, pythonSample } from './sdk-samples.ts';

export type Operation = Readonly<{
  operationId: string;
  summary: string;
  description: string;
  parameters?: readonly Parameter[];
  requestBody?: Readonly<{ content: Readonly<Record<string, MediaType>> }>;
  responses: Readonly<Record<string, OpenApiResponse>>;
}>;

export type Place = Readonly<{ method: string; path: string; origin: string }>;

export function operationSection(operation: Operation, place: Place, components: Components): string {
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
  const body = requestBody?.content['application/json'];
  const success = responses['200'];
  const sent: View = { components, side: 'request' };
  return `<section class="endpoint" id="${plain(operationId)}">
<header>
<h2><a href="#${plain(operationId)}">${plain(summary)}</a></h2>
<p class="route">${methodBadge(place.method)} <code>${plain(place.path).replaceAll('/', '/<wbr>')}</code></p>
</header>
<div class="columns">
<div class="facts">
${blocks(description)}
${parameterList('Path', parameters, 'path', sent)}
${parameterList('Query', parameters, 'query', sent)}
${body === undefined ? '' : `<h3>Body</h3>${fieldsOf(body.schema, sent)}`}
${parameterList('Headers', parameters, 'header', sent)}
${success === undefined ? '' : responseFields(success, { components, side: 'response' })}
${errorSummary(responses)}
</div>
<div class="examples">
<h3>Request</h3>
${requestExamples(place, operationId, parameters, body)}
<h3>Response</h3>
${success === undefined ? '' : responseExamples(success)}
</div>
</div>
</section>`;
}

export function methodBadge(method: string): string {
  return `<span class="method ${plain(method)}">${plain(method.toUpperCase())}</span>`;
}

function parameterList(
  title: string,
  parameters: readonly Parameter[],
  where: Parameter['in'],
  view: View,
): string {
  const shown = parameters.filter((parameter) => parameter.in === where);
  if (shown.length === 0) return '';
  const items = shown.map(({ name, schema, required, description }) =>
    fieldItem(name, { ...schema, description }, required, view),
  );
  return `<h3>${title}</h3><ul class="fields">${items.join('\n')}</ul>`;
}

function fieldsOf(schema: JsonSchema, view: View): string {
  return fieldList(resolve(schema, view.components), view);
}

function responseFields(
  { content, description, 'x-event-stream': events }: OpenApiResponse,
  view: View,
): string {
  const whole = content['application/json'];
  const [first = '', ...rest] = description.split('\n\n');
  const chunk = (events?.schema.anyOf as readonly JsonSchema[] | undefined)?.[0];
  return `<h3>Response</h3><p>${inline(first)}</p>
<details class="block"><summary>Fields of the response</summary>${whole === undefined ? '' : fieldsOf(whole.schema, view)}</details>
${chunk === undefined ? '' : `<h3>Stream</h3>${blocks(rest.join('\n\n'))}<details class="block"><summary>Fields of a chunk</summary>${fieldsOf(chunk, view)}</details>`}`;
}

/** The codes by status; what each of them means is in the table. */
function errorSummary(responses: Operation['responses']): string {
  const rows = Object.entries(responses).flatMap(([status, { 'x-errors': errors }]) =>
    errors === undefined
      ? []
      : [
          `<dt>${status}</dt><dd>${errors
            .map(({ code: name }) => `<a href="#error-${name}"><code>${name}</code></a>`)
            .join(' ')}</dd>`,
        ],
  );
  return `<h3>Errors</h3><dl class="codes">${rows.join('\n')}</dl>`;
}

function requestExamples(
  { method, path, origin }: Place,
  operationId: string,
  parameters: readonly Parameter[],
  body: MediaType | undefined,
): string {
  const samples = (value: unknown, index: number) =>
    tabs(`${operationId}-${index}`, [
      ['curl', curl({ method, url: `${origin}${path}`, parameters, body: value })],
      ['Python', pythonSample({ method, path, origin, parameters, body: value })],
      ['Node', nodeSample({ method, path, origin, parameters, body: value })],
    ]);
  if (body === undefined) return samples(null, 0);
  const examples = Object.values(body.examples).map(({ summary, value }, index) =>
    example(summary, samples(value, index), index === 0),
  );
  return examples.join('\n');
}

/** Without a script: the radio button that is checked decides which sample the style sheet shows. */
function tabs(id: string, samples: readonly (readonly [string, string])[]): string {
  const choices = samples.map(
    ([label], index) =>
      `<input type="radio" name="${plain(id)}" id="${plain(id)}-${index}"${index === 0 ? ' checked' : ''}><label for="${plain(id)}-${index}">${label}</label>`,
  );
  return `<div class="tabs" role="group" aria-label="Language of the example">${choices.join('')}${samples.map(([label, text]) => code(plain(text), label)).join('')}</div>`;
}

function responseExamples({ content, 'x-event-stream': stream }: OpenApiResponse): string {
  const examples = Object.values(content['application/json']?.examples ?? {}).map(
    ({ summary, value }, index) => example(summary, code(json(value), '200 application/json'), index === 0),
  );
  const events = Object.values(stream?.examples ?? {});
  const shown = events.map(({ summary, value }) => `# ${summary}\ndata: ${JSON.stringify(value)}`);
  if (events.length > 0)
    examples.push(
      example(
        'Events of a stream',
        code(plain([...shown, '# The end\ndata: [DONE]'].join('\n\n')), '200 text/event-stream'),
        false,
      ),
    );
  return examples.join('\n');
}

function example(title: string, html: string, isOpen: boolean): string {
  return `<details class="example"${isOpen ? ' open' : ''}><summary>${plain(title)}</summary>${html}</details>`;
}
