/** Calls to the gateway's own API. The types of the answers are the contract's; what is not an answer is thrown. */
import { ApiProblem, problemFrom } from './problem.ts';
import { reportReachable } from './reachability.ts';

type Query = Readonly<Record<string, string | number | null | undefined>>;
type CallOptions = Readonly<{
  query?: Query;
  signal?: AbortSignal;
  headers?: Readonly<Record<string, string>>;
}>;

let onSessionLost: () => void = () => {};

/** What happens when the gateway says that nobody is signed in any more. */
export function whenSessionIsLost(then: () => void): void {
  onSessionLost = then;
}

/** For calls that are not made here and have errors of their own. */
export function reportSessionLost(): void {
  onSessionLost();
}

export function get<Answer>(path: string, options: CallOptions = {}): Promise<Answer> {
  return call<Answer>('GET', path, undefined, options);
}

export function post<Answer>(path: string, body: unknown = {}, options: CallOptions = {}): Promise<Answer> {
  return call<Answer>('POST', path, body, options);
}

export function patch<Answer>(path: string, body: unknown, options: CallOptions = {}): Promise<Answer> {
  return call<Answer>('PATCH', path, body, options);
}

export function remove<Answer>(path: string, options: CallOptions = {}): Promise<Answer> {
  return call<Answer>('DELETE', path, undefined, options);
}

async function call<Answer>(
  method: string,
  path: string,
  body: unknown,
  options: CallOptions,
): Promise<Answer> {
  const response = await send(method, path, body, options);
  const text = await orProblem(response.text(), options.signal);
  return (text === '' ? null : JSON.parse(text)) as Answer;
}

/** The answer itself, for those who read it as it arrives. One that is not a success is thrown as a problem. */
export async function send(
  method: string,
  path: string,
  body: unknown,
  { query = {}, signal, headers = {} }: CallOptions = {},
): Promise<Response> {
  const response = await fetchOrProblem(addressOf(path, query), {
    method,
    credentials: 'same-origin',
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  if (response.ok) return response;
  const problem = await problemFrom(response);
  if (problem.code === 'session_required') onSessionLost();
  throw problem;
}

export function addressOf(path: string, query: Query): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') words.set(name, `${value}`);
  }
  return words.size === 0 ? path : `${path}?${words}`;
}

async function fetchOrProblem(address: string, init: RequestInit): Promise<Response> {
  const response = await orProblem(fetch(address, init), init.signal);
  reportReachable(true);
  return response;
}

async function orProblem<Answer>(asking: Promise<Answer>, signal?: AbortSignal | null): Promise<Answer> {
  try {
    return await asking;
  } catch (error) {
    // Who cancelled knows it, and must not be told of a failure.
    if (signal?.aborted) throw error;
    reportReachable(false);
    throw new ApiProblem('The gateway cannot be reached. Check your connection and try again.', {
      status: 0,
      code: 'network_error',
    });
  }
}
