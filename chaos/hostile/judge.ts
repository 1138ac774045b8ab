/** What is wrong with the response to a hostile request; null when nothing is. Pure. */
import { errorTable } from '../../src/errors.ts';
import type { Answer } from './answer-reader.ts';
import type { Exchange } from './connection.ts';
import type { HostileRequest } from './request.ts';

/** The sandbox puts this where no client may ever see it. */
const canary = 'sandbox-private';
/** A busy gateway may always answer this. */
const overloaded = 'server_overloaded';
/** The statuses for HTTP that a server does not speak. */
const notSpoken = new Set([501, 505]);

const statuses: ReadonlyMap<string, number | null> = new Map([
  ...Object.entries(errorTable).map(([code, { status }]) => [code, status] as const),
  [overloaded, 503],
]);

export function judgeExchange(request: HostileRequest, { answers, ended }: Exchange): string | null {
  if (ended === 'nonsense') return 'an answer that is not HTTP';
  if (ended === 'not connected') return 'no connection';
  const isOwed = request.framing === 'sound' && request.leave === null;
  if (isOwed && answers.length < request.answers)
    return `${answers.length} answers of ${request.answers}, ${ended}`;
  for (const answer of answers) {
    const wrong = judgeAnswer(request, answer);
    if (wrong !== null) return wrong;
  }
  return null;
}

function judgeAnswer(request: HostileRequest, answer: Answer): string | null {
  const { status, head, text } = answer;
  if (head.includes(canary) || text.includes(canary)) return `${status} with the provider’s private details`;
  if (request.framing === 'broken' && (notSpoken.has(status) || !head.includes('x-service-request-id')))
    return status < 500 || notSpoken.has(status) ? null : `${status} to what is not HTTP`;
  if (!head.includes('\r\nx-service-request-id: ')) return `${status} without a request ID`;
  const code = status >= 400 ? codeIn(text) : null;
  if (status >= 500 && !isExplained(request, code)) return `${status} ${code ?? text.slice(0, 100)}`;
  if (status >= 400 && request.isApi && !request.isHeadOnly && statuses.get(code ?? '') !== status)
    return `${status} with ${code === null ? `the body ${text.slice(0, 100)}` : `code ${code}`}`;
  return judgeStream(request, answer);
}

/** A failure is allowed only if the request explains it. */
function isExplained({ provokes, isHeadOnly }: HostileRequest, code: string | null): boolean {
  if (code === overloaded) return true;
  if (isHeadOnly || code === null || provokes === 'nothing') return false;
  if (code === 'billing_consistency_error') return provokes === 'unbillable';
  const isProviders = code.startsWith('provider_') || code === 'all_providers_unavailable';
  return isProviders && code !== 'provider_attempt_create_failed';
}

/** A stream may end with an error, but not with one that the gateway caused. */
function judgeStream({ provokes }: HostileRequest, { head, text }: Answer): string | null {
  if (!head.includes('text/event-stream')) return null;
  const line = text.split('\n\n').find((event) => event.startsWith('data: {"error"'));
  if (line === undefined) return null;
  const code = codeIn(line.slice('data: '.length));
  const isOwn = code === null || code === 'streaming_error' || code === 'internal_error';
  return isOwn || provokes === 'nothing' ? `a stream that ends with ${code ?? line.slice(0, 100)}` : null;
}

/** The code of a standard error body. */
function codeIn(text: string): string | null {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: unknown; type?: unknown; code?: unknown } };
    const isStandard =
      typeof error?.message === 'string' && typeof error.type === 'string' && typeof error.code === 'string';
    return isStandard ? (error.code as string) : null;
  } catch {
    return null;
  }
}
