/** Calls to the gateway's own API. The types of the answers are the contract's; what is not an answer is thrown. */
import { QueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';

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

/** A refusal or failure, in the words that the gateway chose for it. */
type Details = Readonly<{
  status: number;
  code: string;
  param?: string | null;
  requestId?: string | null;
  retryAfterSeconds?: number | null;
}>;

export class ApiProblem extends Error {
  /** 0 when there was no answer at all. */
  readonly status: number;
  readonly code: string;
  /** The field that is to blame, in the words of the wire. */
  readonly param: string | null;
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;

  constructor(message: string, details: Details) {
    super(message);
    this.name = 'ApiProblem';
    this.status = details.status;
    this.code = details.code;
    this.param = details.param ?? null;
    this.requestId = details.requestId ?? null;
    this.retryAfterSeconds = details.retryAfterSeconds ?? null;
  }
}

/** Whatever was thrown, as something that can be shown. */
export function problemOf(thrown: unknown): ApiProblem {
  if (thrown instanceof ApiProblem) return thrown;
  return new ApiProblem('Something in this page went wrong. Loading it again may help.', {
    status: 0,
    code: 'page_error',
  });
}

export async function problemFrom(response: Response): Promise<ApiProblem> {
  const body: unknown = await response.json().catch(() => null);
  const error = fieldsOf(fieldsOf(body).error);
  const text = (value: unknown) => (typeof value === 'string' ? value : null);
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  return new ApiProblem(text(error.message) ?? `The gateway answered with status ${response.status}.`, {
    status: response.status,
    code: text(error.code) ?? 'unknown_error',
    param: text(error.param),
    requestId: response.headers.get('x-service-request-id'),
    retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : null,
  });
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

let isReachable = true;
const listeners = new Set<() => void>();

/** Any answer counts, a refusal too: only where none came the gateway is gone. */
export function reportReachable(next: boolean): void {
  if (next === isReachable) return;
  isReachable = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Whether the gateway was there when something was last asked of it. */
export function useIsReachable(): boolean {
  return useSyncExternalStore(subscribe, () => isReachable);
}

const mostRetries = 2;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      // A gateway on this machine or in this house can be asked whatever the browser thinks of its connection.
      networkMode: 'always',
      refetchOnReconnect: true,
      // What the gateway refuses, it refuses again; what failed on the way may work the next time.
      retry: (failures, error) =>
        failures < mostRetries && error instanceof ApiProblem && (error.status === 0 || error.status >= 500),
    },
    mutations: { retry: false, networkMode: 'always' },
  },
});
