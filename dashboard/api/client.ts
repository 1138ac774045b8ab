/** Calls to the gateway's own API. Response types come from the contract; errors are thrown. */
import { QueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';

export type Query = Readonly<Record<string, string | number | null | undefined>>;
type CallOptions = Readonly<{
  query?: Query;
  signal?: AbortSignal;
  headers?: Readonly<Record<string, string>>;
}>;

let sessionLostListener: () => void = () => {};

export function onSessionLost(listener: () => void): void {
  sessionLostListener = listener;
}

/** For calls that are not made here because their errors have another form. */
export function reportSessionLost(): void {
  sessionLostListener();
}

export function get<Body>(path: string, options: CallOptions = {}): Promise<Body> {
  return call<Body>('GET', path, undefined, options);
}

export function post<Body>(path: string, body: unknown = {}): Promise<Body> {
  return call<Body>('POST', path, body);
}

export function patch<Body>(path: string, body: unknown): Promise<Body> {
  return call<Body>('PATCH', path, body);
}

export function remove<Body>(path: string): Promise<Body> {
  return call<Body>('DELETE', path);
}

async function call<Body>(
  method: string,
  path: string,
  body?: unknown,
  options: CallOptions = {},
): Promise<Body> {
  const response = await send(method, path, body, options);
  const text = await orProblem(response.text(), options.signal);
  return (text === '' ? null : JSON.parse(text)) as Body;
}

/** Returns the response itself, for callers that read it as it arrives. */
export async function send(
  method: string,
  path: string,
  body: unknown,
  { query = {}, signal, headers = {} }: CallOptions = {},
): Promise<Response> {
  const hasBody = body !== undefined;
  const request = fetch(addressOf(path, query), {
    method,
    credentials: 'same-origin',
    headers: {
      accept: 'application/json',
      ...(hasBody ? { 'content-type': 'application/json' } : {}),
      ...headers,
    },
    ...(hasBody ? { body: JSON.stringify(body) } : {}),
    ...(signal === undefined ? {} : { signal }),
  });
  const response = await orProblem(request, signal);
  reportReachable(true);
  if (response.ok) return response;
  const problem = await problemFrom(response);
  if (problem.code === 'session_required') reportSessionLost();
  throw problem;
}

export function addressOf(path: string, query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') parameters.set(name, `${value}`);
  }
  return parameters.size === 0 ? path : `${path}?${parameters}`;
}

async function orProblem<Value>(pending: Promise<Value>, signal?: AbortSignal): Promise<Value> {
  try {
    return await pending;
  } catch (error) {
    // A cancelled call is not a failure to report.
    if (signal?.aborted) throw error;
    reportReachable(false);
    throw new ApiProblem('The gateway cannot be reached. Check your connection and try again.', {
      status: 0,
      code: 'network_error',
    });
  }
}

type ProblemDetails = Readonly<{
  status: number;
  code: string;
  param?: string | null;
  requestId?: string | null;
}>;

/** An error response of the gateway, or no response at all. */
export class ApiProblem extends Error {
  /** 0 when there was no response. */
  readonly status: number;
  readonly code: string;
  /** The invalid field, by its name on the wire. */
  readonly param: string | null;
  readonly requestId: string | null;

  constructor(message: string, { status, code, param = null, requestId = null }: ProblemDetails) {
    super(message);
    this.name = 'ApiProblem';
    this.status = status;
    this.code = code;
    this.param = param;
    this.requestId = requestId;
  }
}

/** Turns whatever was thrown into something that can be shown. */
export function problemOf(thrown: unknown): ApiProblem {
  if (thrown instanceof ApiProblem) return thrown;
  return new ApiProblem('Something went wrong on this page. Reloading it may help.', {
    status: 0,
    code: 'page_error',
  });
}

async function problemFrom(response: Response): Promise<ApiProblem> {
  const body: unknown = await response.json().catch(() => null);
  const error = fieldsOf(fieldsOf(body).error);
  const text = (value: unknown) => (typeof value === 'string' ? value : null);
  return new ApiProblem(text(error.message) ?? `The gateway responded with status ${response.status}.`, {
    status: response.status,
    code: text(error.code) ?? 'unknown_error',
    param: text(error.param),
    requestId: response.headers.get('x-service-request-id'),
  });
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

let isReachable = true;
const reachabilityListeners = new Set<() => void>();

/** Any response means that the gateway is reachable, an error response too. */
export function reportReachable(next: boolean): void {
  if (next === isReachable) return;
  isReachable = next;
  for (const listener of reachabilityListeners) listener();
}

function subscribe(listener: () => void): () => void {
  reachabilityListeners.add(listener);
  return () => reachabilityListeners.delete(listener);
}

export function useIsReachable(): boolean {
  return useSyncExternalStore(subscribe, () => isReachable);
}

const maxRetries = 2;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      // A gateway on this machine or in the local network is reachable whatever the browser thinks of its connection.
      networkMode: 'always',
      refetchOnReconnect: true,
      // A request that the gateway rejected would be rejected again; a failure on the way may not recur.
      retry: (failures, error) =>
        failures < maxRetries && error instanceof ApiProblem && (error.status === 0 || error.status >= 500),
    },
    mutations: { retry: false, networkMode: 'always' },
  },
});
