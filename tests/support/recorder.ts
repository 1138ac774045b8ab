/**
 * Compares every response of a gateway that the tests fetch with the published document: the endpoint must have the
 * status, the body must have the fields of its schema and no others. It also records which errors were seen, so that no
 * row of the contract's table stays untested.
 */
import { z } from 'zod';
import { errorTable } from '../../src/errors.ts';
import { adminPrefix, adminStatusesOf } from '../../src/openapi/admin/document.ts';
import { adminEndpoints } from '../../src/openapi/admin/endpoints.ts';
import { endpoints } from '../../src/openapi/document.ts';
import { statusesOf } from '../../src/openapi/responses.ts';
import { errorBodySchema, errorSchema } from '../../src/openapi/schemas/errors.ts';
import { messagesErrorSchema } from '../../src/openapi/schemas/messages.ts';
import contractErrors from '../contract/errors.json';

/** Rows of the contract that no test causes over a socket yet. A row that occurs must leave this list. */
export const notYetSeen: readonly string[] = [];

/** A response as it arrived. `text` is what was read of its body. */
export type Answer = Readonly<{
  method: string;
  path: string;
  status: number;
  contentType: string;
  text: string;
  /** Whether it has the form of Anthropic's API. */
  isForMessages?: boolean;
}>;

type ErrorSeen = Readonly<{ status: number | null; type: string; code: string }>;

const maxReason = 500;

const rowName = ({ status, type, code }: ErrorSeen) => `${status ?? 'SSE'} ${type} ${code}`;

const routes = endpoints.map((endpoint) => ({
  endpoint,
  // The ID of a model may contain slashes.
  pattern: new RegExp(`^${endpoint.path.replace('{model}', '.+').replace(/\{\w+\}/g, '[^/]+')}$`),
  refusals: new Map([...statusesOf(endpoint)].map(([status, codes]) => [status, errorBodySchema(codes)])),
  messagesRefusals: new Map(
    [...statusesOf(endpoint)].map(([status, codes]) => [status, messagesErrorSchema(codes)]),
  ),
}));

const unknownRoute = errorBodySchema(['not_found']);
const unknownMessagesRoute = messagesErrorSchema(['not_found']);

/** What is wrong with a response, in words; null when it is as documented. */
export function faultOf(answer: Answer): string | null {
  const { method, status } = answer;
  const path = routeOf(answer)?.endpoint.path ?? answer.path;
  const reason = isEventStream(answer) ? streamFault(answer) : bodyFault(answer);
  return reason === null ? null : `${method} ${path} answered ${status}: ${reason.slice(0, maxReason)}`;
}

function isEventStream({ contentType }: Answer): boolean {
  return contentType.startsWith('text/event-stream');
}

function routeOf({ method, path }: Answer) {
  return routes.find(
    ({ endpoint, pattern }) => endpoint.method === method.toLowerCase() && pattern.test(path),
  );
}

function bodyFault(answer: Answer): string | null {
  const { status, contentType, text } = answer;
  if (!contentType.startsWith('application/json')) return `the content type ${contentType} is not documented`;
  const body = parse(text);
  if (body === undefined) return 'the body is not JSON';
  const route = routeOf(answer);
  if (answer.isForMessages === true) return messagesFault(answer, body);
  if (!route) return status === 404 ? mismatch(unknownRoute, body) : 'there is no such endpoint';
  if (status === 200) return mismatch(route.endpoint.response.schema, body);
  const refusal = route.refusals.get(status);
  if (!refusal) return `the status is not documented: ${text.slice(0, 300)}`;
  return mismatch(refusal, body) ?? typeFault(errorIn(body, status));
}

function messagesFault(answer: Answer, body: unknown): string | null {
  const { status } = answer;
  const route = routeOf(answer);
  if (!route) return status === 404 ? mismatch(unknownMessagesRoute, body) : 'there is no such endpoint';
  // Models have another form here, which the document only mentions.
  if (status === 200)
    return answer.path.startsWith('/v1/models') ? null : mismatch(route.endpoint.response.schema, body);
  const refusal = route.messagesRefusals.get(status);
  return refusal ? mismatch(refusal, body) : `the status is not documented: ${answer.text.slice(0, 300)}`;
}

function streamFault(answer: Answer): string | null {
  const events = routeOf(answer)?.endpoint.events;
  if (!events) return 'a stream is not documented';
  for (const data of eventsIn(answer.text)) {
    if (data === '[DONE]') continue;
    const event = parse(data);
    const reason = event === undefined ? 'it is not JSON' : mismatch(events.schema, event);
    if (reason !== null) return `the event ${data.slice(0, 300)}: ${reason}`;
    const fault = typeFault(errorIn(event, null));
    if (fault !== null) return fault;
  }
  return null;
}

/** Of a stream that was cut off, only complete events count. */
function eventsIn(text: string): string[] {
  return (
    text
      .split('\n\n')
      .slice(0, -1)
      // A comment is not an event.
      .filter((event) => !event.startsWith(':'))
      .map((event) => event.replace(/^(?:event: .*\n)?data: /, ''))
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function mismatch(schema: z.core.$ZodType, body: unknown): string | null {
  const { error } = z.safeParse(schema, body);
  return error === undefined ? null : z.prettifyError(error).replaceAll('\n', ' ');
}

/** Each code has one type, even if the schema would allow others. */
function typeFault(error: ErrorSeen | null): string | null {
  if (error === null || !(error.code in errorTable)) return null;
  const { type } = errorTable[error.code as keyof typeof errorTable];
  return error.type === type ? null : `the type of ${error.code} is ${error.type} and not ${type}`;
}

function errorIn(body: unknown, status: number | null): ErrorSeen | null {
  const result = errorSchema.safeParse(body);
  if (!result.success) return null;
  const { type, code } = result.data.error;
  return { status, type, code };
}

/** The admin API has a document of its own, which is not published. */
const adminRoutes = adminEndpoints.map((endpoint) => ({
  endpoint,
  pattern: new RegExp(`^${adminPrefix}${endpoint.path.replace(/\{\w+\}/g, '[^/]*')}$`),
  refusals: new Map(
    [...adminStatusesOf(endpoint)].map(([status, codes]) => [status, errorBodySchema(codes)]),
  ),
}));

const isDocumented = (path: string) =>
  path.startsWith('/v1') || (path.startsWith(adminPrefix) && path !== `${adminPrefix}/openapi.json`);

export function adminFaultOf(answer: Answer): string | null {
  const { method, path, status, text } = answer;
  const route = adminRoutes.find(
    ({ endpoint, pattern }) => endpoint.method === method.toLowerCase() && pattern.test(path),
  );
  const schema =
    status === route?.endpoint.status
      ? route.endpoint.response
      : (route?.refusals.get(status) ?? (route === undefined && status === 404 ? unknownRoute : null));
  const isFile = route?.endpoint.isFile === true && status === 200;
  const reason =
    schema === null
      ? `not documented: ${text.slice(0, 300)}`
      : isFile
        ? fileFault(schema, answer)
        : mismatch(schema, parse(text));
  const where = `${method} ${adminPrefix}${route?.endpoint.path ?? path}`;
  return reason === null ? null : `${where} answered ${status}: ${reason.slice(0, maxReason)}`;
}

/** Of the lines of an export. What the cells of the other format have is compared with these elsewhere. */
function fileFault(schema: z.core.$ZodType, { contentType, text }: Answer): string | null {
  if (contentType.startsWith('text/csv')) return null;
  if (contentType !== 'application/x-ndjson') return `the content type ${contentType} is not documented`;
  const lines = text.split('\n').slice(0, -1);
  return lines.map((line) => mismatch(schema, parse(line))).find((reason) => reason !== null) ?? null;
}

/** Every error in a response, as rows of the table. */
export function errorsIn(answer: Answer): string[] {
  const found = isEventStream(answer)
    ? eventsIn(answer.text).map((data) => errorIn(parse(data), null))
    : [errorIn(parse(answer.text), answer.status)];
  return found.filter((error) => error !== null).map(rowName);
}

/** Errors that the whole suite should have met but did not, and excuses for errors that it did meet. */
export function coverageFaults(seen: ReadonlySet<string>, excused: readonly string[] = notYetSeen): string[] {
  const rows = contractErrors.map(rowName);
  return [
    ...rows.filter((row) => !seen.has(row) && !excused.includes(row)).map((row) => `never answered: ${row}`),
    ...excused.filter((row) => seen.has(row)).map((row) => `answered, but still in notYetSeen: ${row}`),
    ...excused.filter((row) => !rows.includes(row)).map((row) => `in notYetSeen, but no row: ${row}`),
  ];
}

export type Recorder = Readonly<{
  /** Throws when anything was not as documented. Returns the rows of the error table that were met. */
  check: () => Promise<string[]>;
}>;

const maxWaitMs = 5_000;

/** Replaces fetch for the rest of the process. Callers get what they would get without it. */
export function startRecorder(): Recorder {
  const faults = new Set<string>();
  const seen = new Set<string>();
  const reading = new Set<Promise<void>>();
  const original = globalThis.fetch;

  function note(answer: Answer): void {
    for (const row of errorsIn(answer)) seen.add(row);
    if (!isDocumented(answer.path)) return;
    const fault = answer.path.startsWith(adminPrefix) ? adminFaultOf(answer) : faultOf(answer);
    if (fault !== null) faults.add(fault);
  }

  function watch(
    input: Parameters<typeof fetch>[0],
    init: RequestInit | undefined,
    response: Response,
  ): void {
    // Only a gateway gives its responses this ID.
    if (!response.headers.has('x-service-request-id')) return;
    const contentType = response.headers.get('content-type');
    const request = input instanceof Request ? input : null;
    const method = init?.method ?? request?.method ?? 'GET';
    if (contentType === null || method === 'HEAD') return;
    const { pathname: path } = new URL(request?.url ?? String(input));
    const isForMessages = response.headers.has('request-id');
    const answer = { method, path, status: response.status, contentType, isForMessages };
    if (contentType.startsWith('text/event-stream')) {
      // A second reader would keep open a stream that its client has left, so only what the test itself reads is seen.
      const read = response.text.bind(response);
      const readAndNote = async () => {
        const text = await read();
        note({ ...answer, text });
        return text;
      };
      Object.defineProperty(response, 'text', { value: readAndNote });
      return;
    }
    if (!contentType.startsWith('application/json') && !isDocumented(path)) return;
    const copy = response.clone();
    const noted = copy.text().then(
      (text) => note({ ...answer, text }),
      // The test itself cut off what never arrived in full.
      () => undefined,
    );
    reading.add(noted);
    noted.finally(() => reading.delete(noted)).catch(() => undefined);
  }

  const recorded = async (...[input, init]: Parameters<typeof fetch>): Promise<Response> => {
    const response = await original(input, init);
    watch(input, init, response);
    return response;
  };
  globalThis.fetch = Object.assign(recorded, { preconnect: original.preconnect });

  return {
    check: async () => {
      await Promise.race([Promise.all(reading), Bun.sleep(maxWaitMs)]);
      if (faults.size > 0)
        throw new Error(`Answers differ from the published document:\n${[...faults].join('\n')}`);
      return [...seen];
    },
  };
}
