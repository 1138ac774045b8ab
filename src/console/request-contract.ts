/**
 * The types of the console API that are about requests: those that became Generations, and those that were refused before
 * they could. They follow the conventions of contract.ts.
 */
import type { GenerationDetail, Page } from './contract.ts';
import type { OperatorGeneration } from './operator-contract.ts';

export const requestStatuses = ['in_progress', 'completed', 'failed', 'cancelled', 'refused'] as const;
export type RequestStatus = (typeof requestStatuses)[number];

/** Which endpoint was called. */
export const requestApis = ['chat_completions', 'messages', 'responses', 'images'] as const;
export type RequestApi = (typeof requestApis)[number];

/**
 * What a request must be like to be found. All are optional query parameters of the endpoints below, and all of those given
 * have to match; an unknown value is `invalid_parameter`, and an unknown parameter `unsupported_parameter`, as everywhere. `from` and
 * `to` are times (ISO 8601); a request is in the range if it arrived at `from` or later, and before `to`.
 */
export type RequestFilter = {
  from?: string;
  to?: string;
  status?: RequestStatus;
  error_code?: string;
  model?: string;
  /** The ID of a key. */
  key?: string;
  /** The name of the provider that was called last. */
  provider?: string;
  api?: RequestApi;
  end_user?: string;
  /** name=value */
  tag?: string;
  session?: string;
  streamed?: 'yes' | 'no';
  fallback?: 'yes' | 'no';
  /** In USD. */
  min_cost?: string;
  min_duration_ms?: string;
  /** The ID of an account: for operators, who otherwise see the requests of all of them. */
  account?: string;
};

/**
 * GET …/accounts/{account}/requests?(filter)&limit&cursor → RequestPage, the newest first. GET …/operator/requests is the same
 * for operators. GET …/requests.csv is the list as a file, up to a bound that its last line states.
 */
export type RequestPage = Page<RequestRow> & {
  /**
   * Some filters make the gateway look at requests one by one, and it looks at no more than 10,000 for a page: all from this time on
   * were looked at. Null when the page is full, or the list ends. A short page with a next_cursor goes on there.
   */
  scanned_to: string | null;
};

export type RequestRow = {
  /** The request ID. */
  id: string;
  at: string;
  status: RequestStatus;
  /** Null for Generations from before it was recorded. */
  api: RequestApi | null;
  /** As it was asked for, and cut off where it is no model; null when the request did not get that far. */
  model: string | null;
  key: { id: string; name: string };
  /** For operators only. */
  account?: { id: string; name: string };
  /** Who was called last; null when nobody was. */
  provider: string | null;
  /** Who was called first, if that was someone else. */
  fallback_from: string | null;
  streamed: boolean | null;
  /** The code of a failure or refusal. */
  error_code: string | null;
  finish_reason: string | null;
  usage: {
    input_tokens: number;
    output_tokens: number;
    cache_read_tokens: number;
    units: number;
    unit: string;
  } | null;
  /** What was charged; null when nothing was. */
  cost: string | null;
  /** So far, if it is in progress. Null for a refusal. */
  duration_ms: number | null;
  time_to_first_token_ms: number | null;
  attribution: { end_user: string | null; session: string | null; tags: Record<string, string> } | null;
};

/** GET …/requests/{request_id}, and …/operator/requests/{request_id}. */
export type RequestDetail = FoundGeneration | { kind: 'refusal'; request: Refusal };

export type FoundGeneration = {
  kind: 'generation';
  request: GenerationDetail &
    Omit<RequestRow, keyof GenerationDetail> & {
      /** For operators only. */
      reported_usage?: OperatorGeneration['reported_usage'];
    };
};

export type Refusal = RequestRow & {
  status: 'refused';
  key: { id: string; name: string; hint: string };
  http_status: number;
  error_code: string;
  /** The meaning of the code, as in the table of errors. */
  message: string;
  /** Which parameter of the request was wrong; null when none was. */
  param: string | null;
  /** Why it could not be held, for a balance or a limit that did not cover it; null otherwise. */
  shortage: RefusedShortage | null;
  /** When to try again; null when that is not known. */
  retry_after_seconds: number | null;
};

/** What was missing: `needed` of what was `available`, in USD for money and spend limits, otherwise in requests or tokens. */
export type RefusedShortage = {
  of: 'balance' | 'key_month' | 'limit';
  needed: string;
  available: string;
  /** The most output tokens that would have fitted; null when none would, or there are no tokens. */
  fitting_max_tokens: number | null;
};

/**
 * GET …/requests/series?(filter) → RequestSeries, and …/operator/requests/series. Without `from` and `to` the last 24 hours. They
 * end an hour from now at the latest, are widened to whole minutes, or to whole hours where minutes are no longer kept or a step
 * is an hour or more, and the length of a step follows from them: there are at most 100 steps, the last of which may be shorter.
 */
export type RequestSeries = {
  from: string;
  to: string;
  step_seconds: number;
  /** One for each step, in order, including those without requests. */
  points: (RequestFigures & { at: string })[];
  totals: RequestFigures;
  /** The same for the period of the same length before; null when that is no longer known. */
  before: RequestFigures | null;
  /** Requests that are still in progress. They are not part of the other figures. */
  in_progress: number;
  /**
   * Filters other than status, error_code, model, key and provider make the gateway look at requests one by one, the newest first.
   * Then only refusals that are stored count, as in the list. If there are too many, those before this time were not counted;
   * nor is what has not been added up yet, after an upgrade. Null when all were.
   */
  counted_from: string | null;
};

/** Percentiles are of completed requests, from fixed buckets, and null without any. */
export type RequestFigures = {
  completed: number;
  failed: number;
  cancelled: number;
  refused: number;
  input_tokens: number;
  output_tokens: number;
  /** What was charged. */
  cost: string;
  duration_ms_p50: number | null;
  duration_ms_p95: number | null;
  time_to_first_token_ms_p50: number | null;
  time_to_first_token_ms_p95: number | null;
};

export const requestGroupings = ['key', 'model', 'provider', 'error_code', 'account'] as const;
export type RequestGrouping = (typeof requestGroupings)[number];

/**
 * GET …/requests/groups?by=(RequestGrouping)&order=requests|cost|errors&limit&(filter) → RequestGroups, and …/operator/requests/groups. The first
 * 50 in that order, or as many as `limit` says, at most 100. Filters other than status, error_code, model, key, provider and account are `invalid_parameter`. Grouping by account is for operators.
 */
export type RequestGroups = {
  from: string;
  to: string;
  data: (RequestFigures & {
    /** The ID of a key or account, the name of a model or provider, an error code; null where there is none. */
    value: string | null;
    /** The name, for a key or an account. */
    name: string | null;
  })[];
};

/**
 * GET …/accounts/{account}/requests/problems?from&to → RequestProblems: what failed and was refused, by error code, the most frequent
 * first, and no more than 20. The range is as for series.
 */
export type RequestProblems = { from: string; to: string; data: RequestProblem[] };

export type RequestProblem = {
  code: string;
  failed: number;
  refused: number;
  /** The key and the model with the most of them; null where there is none. */
  key: { id: string; name: string; requests: number } | null;
  model: { name: string; requests: number } | null;
  /** The parameter that was wrong most often, of the last 1,000 that are stored. */
  param: string | null;
  /** Null when none of them is stored any longer, or the last 1,000 failures are of other codes. */
  last_at: string | null;
};

/**
 * GET …/operator/providers/{provider}/series?from&to → ProviderSeries: the calls to a provider, by its name. The range is as for
 * requests. A request has a call for each attempt, and the time of a call is that of its request.
 */
export type ProviderSeries = {
  from: string;
  to: string;
  step_seconds: number;
  points: (AttemptFigures & { at: string })[];
  totals: AttemptFigures;
  /** The same for the period of the same length before; null when that is no longer known. */
  before: AttemptFigures | null;
  /** The most frequent first. `points` has how many failed in each step. */
  errors: { code: string; failed: number; points: number[] }[];
  models: (AttemptFigures & { model: string })[];
  counted_from: string | null;
};

/** Percentiles are of those that succeeded. */
export type AttemptFigures = {
  succeeded: number;
  failed: number;
  /** The part of `failed` in which the provider rejected an invalid request, which is no failure of its own. */
  rejected: number;
  cancelled: number;
  duration_ms_p50: number | null;
  duration_ms_p95: number | null;
};
