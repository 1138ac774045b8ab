/**
 * Every error code, one line each. `status` is null for a code that only occurs inside a stream whose headers have been
 * sent; `inBand` marks the codes a stream can end with. A code with neither is only recorded as the outcome of a
 * Generation.
 */
type Retryable = 'yes' | 'no' | 'conditional';
type ErrorRow = Readonly<{
  status: number | null;
  type: string;
  retryable: Retryable;
  inBand: boolean;
  message: string;
  /** The codes of the admin API and of the dashboard are not part of the public API. Both use the dashboard's. */
  surface: 'api' | 'admin' | 'console';
}>;

const rowsOf =
  (surface: ErrorRow['surface'], inBand: boolean) =>
  (status: number | null, type: string, retryable: Retryable, message: string): ErrorRow => ({
    status,
    type,
    retryable,
    inBand,
    message,
    surface,
  });
const http = rowsOf('api', false);
const both = rowsOf('api', true);
const admin = rowsOf('admin', false);
const console = rowsOf('console', false);
const stream = (type: string, retryable: Retryable, message: string) => both(null, type, retryable, message);
const outcome = (type: string, retryable: Retryable, message: string) => http(null, type, retryable, message);

// biome-ignore format: one line per code is what makes this table readable.
export const errorTable = {
  invalid_json: http(400, 'invalid_request_error', 'no', 'The request body is not valid JSON.'),
  invalid_request: http(400, 'invalid_request_error', 'no', 'The request does not have the expected shape.'),
  missing_required_parameter: http(400, 'invalid_request_error', 'no', 'A required parameter is missing.'),
  invalid_parameter: http(400, 'invalid_request_error', 'no', 'A parameter has the wrong type, range or shape.'),
  unsupported_parameter: http(400, 'invalid_request_error', 'no', 'This parameter is not supported.'),
  invalid_model: http(400, 'invalid_request_error', 'no', 'This model is disabled or serves another kind of request.'),
  invalid_n: http(400, 'invalid_request_error', 'no', 'n must be an integer from 1 to 4.'),
  invalid_size: http(400, 'invalid_request_error', 'no', 'This size is invalid or not offered by the model.'),
  invalid_cursor: http(400, 'invalid_request_error', 'no', 'The cursor is invalid, expired or belongs to other filters.'),
  invalid_response_format: http(400, 'invalid_request_error', 'no', 'response_format must be url.'),
  model_pricing_not_configured: http(400, 'invalid_request_error', 'no', 'This model has no price and cannot be called.'),
  invalid_api_key: http(401, 'authentication_error', 'no', 'The API key is missing, malformed, inactive or unknown. Send it as: Authorization: Bearer svc_sk_…'),
  expired_api_key: http(401, 'authentication_error', 'no', 'The API key has expired. Create a new one in the dashboard.'),
  insufficient_balance: both(402, 'insufficient_balance', 'no', 'The prepaid balance does not cover this request.'),
  model_not_allowed: http(403, 'permission_error', 'no', 'This API key may not call this model.'),
  monthly_spend_limit_exceeded: http(403, 'permission_error', 'no', 'This API key has reached its monthly spend limit, or the rest of it does not cover the maximum cost of this request.'),
  spend_limit_exceeded: http(403, 'permission_error', 'no', 'A limit on what may be spent in a day, a week or a month has been reached, or the rest of it does not cover the maximum cost of this request.'),
  model_not_found: http(404, 'invalid_request_error', 'no', 'This model does not exist. GET /v1/models lists the models of this key.'),
  generation_not_found: http(404, 'invalid_request_error', 'no', 'This API key has no Generation with this ID.'),
  not_found: http(404, 'invalid_request_error', 'no', 'This route does not exist.'),
  websocket_not_supported: http(426, 'invalid_request_error', 'no', 'Responses are not sent over WebSocket here: use POST /v1/responses over HTTP.'),
  rate_limit_exceeded: http(429, 'rate_limit_error', 'yes', 'This API key has exceeded its limit of requests per minute, or has too many requests in progress.'),
  provider_rate_limit: http(429, 'rate_limit_error', 'yes', 'The provider is limiting requests. Try again later.'),
  internal_error: http(500, 'internal_error', 'conditional', 'Something unexpected went wrong. The request ID identifies the incident.'),
  server_not_configured: http(500, 'internal_error', 'conditional', 'The server is not configured for this request.'),
  balance_lookup_failed: http(500, 'internal_error', 'conditional', 'The balance could not be checked.'),
  monthly_spend_lookup_failed: http(500, 'internal_error', 'conditional', 'The monthly spend could not be checked.'),
  model_pricing_lookup_failed: http(500, 'internal_error', 'conditional', 'The price of this model could not be loaded.'),
  billing_consistency_error: both(500, 'billing_error', 'conditional', 'The result could not be billed consistently.'),
  model_list_failed: http(500, 'internal_error', 'conditional', 'The models could not be listed.'),
  usage_lookup_failed: http(500, 'internal_error', 'conditional', 'The usage records could not be loaded.'),
  usage_cost_lookup_failed: http(500, 'internal_error', 'conditional', 'The costs of the usage records could not be loaded.'),
  api_keys_lookup_failed: http(500, 'internal_error', 'conditional', 'The API keys could not be loaded.'),
  generation_lookup_failed: http(500, 'internal_error', 'conditional', 'The Generation could not be loaded.'),
  provider_attempt_create_failed: http(500, 'internal_error', 'conditional', 'The provider attempt could not be recorded.'),
  configuration_error: http(500, 'internal_error', 'no', 'This model is not mapped to its provider correctly.'),
  provider_authentication_error: http(502, 'provider_error', 'no', "The provider rejected this gateway's credentials."),
  provider_bad_request: http(502, 'provider_error', 'no', 'The provider rejected the request.'),
  provider_unavailable: http(502, 'provider_error', 'yes', 'The provider is unavailable.'),
  provider_unknown_error: http(502, 'provider_error', 'conditional', 'The provider failed for an unknown reason.'),
  provider_error: http(502, 'provider_error', 'conditional', 'The provider could not be reached or did not answer properly.'),
  provider_stream_error: both(502, 'provider_error', 'conditional', 'The stream from the provider failed.'),
  provider_not_configured: http(503, 'provider_error', 'no', 'No provider of this model is configured.'),
  server_overloaded: http(503, 'internal_error', 'yes', 'The gateway is overloaded at the moment. Try again later.'),
  limits_changed: http(503, 'internal_error', 'yes', 'The limits of this account are being changed at the moment. Try again.'),
  all_providers_unavailable: http(503, 'provider_error', 'yes', 'All providers of this model are unavailable at the moment.'),
  provider_timeout: both(504, 'provider_error', 'yes', 'The provider did not answer in time.'),
  empty_provider_stream: stream('provider_error', 'conditional', 'The provider opened a stream and sent nothing usable.'),
  repeated_streaming_chunk_limit: stream('provider_error', 'conditional', 'The provider kept repeating the same chunk.'),
  malformed_stream_chunk: stream('provider_error', 'conditional', 'The provider sent a chunk that could not be read.'),
  usage_missing: stream('billing_error', 'conditional', 'The provider ended the stream without reporting usage.'),
  streaming_error: stream('internal_error', 'conditional', 'The stream could not be processed.'),
  billing_temporarily_unavailable: stream('billing_error', 'conditional', 'The charge could not be committed yet and will be settled later.'),
  gateway_interrupted: outcome('internal_error', 'yes', 'The gateway stopped before this request was finished.'),
  invalid_admin_token: admin(401, 'authentication_error', 'no', 'The admin token is missing, malformed, revoked or unknown. Send it as: Authorization: Bearer tg_admin_…'),
  expired_admin_token: admin(401, 'authentication_error', 'no', 'The admin token has expired. Create a new one.'),
  address_not_allowed: admin(403, 'permission_error', 'no', 'The admin token may not be used from this address.'),
  insufficient_scope: admin(403, 'permission_error', 'no', 'The admin token does not have the scope that this endpoint needs.'),
  token_not_found: admin(404, 'invalid_request_error', 'no', 'There is no such admin token.'),
  external_id_taken: admin(409, 'invalid_request_error', 'no', 'Another account has this external ID.'),
  precondition_failed: admin(412, 'invalid_request_error', 'no', 'This has been changed since you read it. Read it again, and send your change with the new ETag.'),
  precondition_required: admin(428, 'invalid_request_error', 'no', 'An update needs an If-Match header with the ETag of what you read, or * for any.'),
  session_required: console(401, 'authentication_error', 'no', 'Sign in to use the dashboard.'),
  invalid_credentials: console(401, 'authentication_error', 'no', 'The e-mail address or the password is wrong.'),
  invalid_origin: console(403, 'permission_error', 'no', 'This request did not come from the dashboard. Behind a proxy, PUBLIC_URL must be the address in the browser.'),
  permission_denied: console(403, 'permission_error', 'no', 'Your role does not allow this.'),
  sign_up_closed: console(403, 'permission_error', 'no', 'Sign-up is closed. Ask the operator for a login.'),
  account_suspended: console(403, 'permission_error', 'no', 'This account is suspended. Ask the operator why.'),
  account_not_found: console(404, 'invalid_request_error', 'no', 'There is no such account, or you do not belong to it.'),
  key_not_found: console(404, 'invalid_request_error', 'no', 'This account has no such key.'),
  key_ended: console(400, 'invalid_request_error', 'no', 'This key was already revoked or replaced, or has expired.'),
  too_many_keys: console(400, 'invalid_request_error', 'no', 'An account can have at most 1,000 active keys. Revoke some that are no longer used.'),
  limit_not_found: console(404, 'invalid_request_error', 'no', 'There is no such limit.'),
  limit_exists: console(409, 'invalid_request_error', 'no', 'There is already a limit of this kind, for the same scope. Change that one.'),
  webhook_not_found: console(404, 'invalid_request_error', 'no', 'There is no such webhook.'),
  webhook_disabled: console(409, 'invalid_request_error', 'no', 'The webhook is disabled. Enable it first.'),
  delivery_not_found: console(404, 'invalid_request_error', 'no', 'This webhook has no such delivery.'),
  too_many_webhooks: console(400, 'invalid_request_error', 'no', 'There are too many webhooks. Remove one that is no longer needed.'),
  event_not_found: admin(404, 'invalid_request_error', 'no', 'There is no such event, or it was removed after 30 days.'),
  too_many_limits: console(400, 'invalid_request_error', 'no', 'An account can have at most 10,000 limits. Remove some that are no longer needed.'),
  grant_not_found: console(404, 'invalid_request_error', 'no', 'This account has no such grant.'),
  allowance_not_found: console(404, 'invalid_request_error', 'no', 'This account has no such allowance.'),
  too_many_allowances: console(400, 'invalid_request_error', 'no', 'An account can have at most 20 allowances. End one that is no longer needed.'),
  last_owner: console(400, 'invalid_request_error', 'no', 'An account needs an owner, and this is the last one.'),
  already_member: console(400, 'invalid_request_error', 'no', 'This user already belongs to the account.'),
  invitation_not_found: console(404, 'invalid_request_error', 'no', 'This account has no such invitation.'),
  invalid_invitation: console(400, 'invalid_request_error', 'no', 'This invitation was used or revoked, or has expired. Ask for a new one.'),
  too_many_invitations: console(400, 'invalid_request_error', 'no', 'An account can have at most 50 open invitations. Revoke some that are no longer needed.'),
  month_not_found: console(404, 'invalid_request_error', 'no', 'This account has no statement for this month.'),
  statements_not_ready: console(503, 'internal_error', 'yes', 'The entries of this account are being added up. Its statements are ready in some minutes.'),
  entry_not_found: console(404, 'invalid_request_error', 'no', 'This account has no such entry.'),
  reference_in_use: console(409, 'invalid_request_error', 'no', 'This reference was used for another movement of this account. A new one needs a new reference.'),
  amount_too_large: console(409, 'invalid_request_error', 'no', 'This is more than can be taken from the balance, or refunded.'),
  nothing_left: console(409, 'invalid_request_error', 'no', 'There is nothing left to undo or refund.'),
  invalid_signature: console(400, 'invalid_request_error', 'no', 'The event is not signed with the secret of this endpoint, or too old.'),
  payments_not_configured: console(404, 'invalid_request_error', 'no', 'Nothing can be paid here. Ask the operator for credit.'),
  payment_provider_error: console(502, 'provider_error', 'yes', 'The payment provider could not be reached, or has refused. Nothing was paid. Try again later.'),
  payment_not_found: console(404, 'invalid_request_error', 'no', 'There is no such payment.'),
  no_saved_card: console(409, 'invalid_request_error', 'no', 'There is no saved card. Save one on the billing page.'),
  invalid_code: console(400, 'invalid_request_error', 'no', 'This code is not valid: it was mistyped, used before, or has expired.'),
  user_not_found: console(404, 'invalid_request_error', 'no', 'There is no such user.'),
  email_taken: console(400, 'invalid_request_error', 'no', 'This e-mail address is already in use.'),
  email_not_verified: console(400, 'invalid_request_error', 'no', 'This e-mail address has not been verified. Confirm that you know who signed up with it, or give them a reset link first.'),
  email_verification_required: console(403, 'permission_error', 'no', 'Verify your e-mail address first: open the link that was mailed to you. Until then you can look at everything, but change nothing.'),
  invalid_verification_token: console(400, 'invalid_request_error', 'no', 'This link was already used, has expired, or is for another login. Ask for a new one.'),
  invalid_reset_token: console(400, 'invalid_request_error', 'no', 'This link was already used or has expired. Ask for a new one.'),
  too_many_attempts: console(429, 'rate_limit_error', 'yes', 'Too many attempts. Wait a while and try again.'),
  authentication_unavailable: console(503, 'internal_error', 'yes', 'Your session could not be verified at the moment.'),
} satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof errorTable;

export const apiErrorCodes = (Object.keys(errorTable) as ErrorCode[]).filter(
  (code) => errorTable[code].surface === 'api',
);

/**
 * What a request needed and how much of that there was, for whoever asks later. In USD for money and limits of spend, otherwise
 * requests or tokens.
 */
export type RequestShortage = Readonly<{
  of: 'balance' | 'key_month' | 'limit';
  needed: string;
  available: string;
  /** The most output tokens that would have fitted; null when none would, or there are no tokens. */
  fittingMaxTokens: number | null;
}>;

/** What the code that throws may add. `cause` is for the log and never leaves the process. */
type ErrorDetails = Readonly<{
  param?: string;
  message?: string;
  /** The page and section of the documentation that explains the error, such as `clients#max-tokens`. */
  docs?: string;
  retryAfterSeconds?: number;
  shortage?: RequestShortage;
  /** Whether the connection cannot be reused, because the rest of the request was not read from it. */
  endsConnection?: boolean;
  cause?: unknown;
}>;

/** An error of the table. Throw it anywhere; routes.ts turns it into a response. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly param: string | undefined;
  readonly docs: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly shortage: RequestShortage | undefined;
  readonly endsConnection: boolean;

  constructor(code: ErrorCode, details: ErrorDetails = {}) {
    super(details.message ?? errorTable[code].message, { cause: details.cause });
    this.name = 'ApiError';
    this.code = code;
    this.param = details.param;
    this.docs = details.docs;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.shortage = details.shortage;
    this.endsConnection = details.endsConnection ?? false;
  }

  /** The same error with some other details. */
  with(changed: Pick<ErrorDetails, 'param' | 'docs' | 'message'>): ApiError {
    const { code, param, message, docs, retryAfterSeconds, shortage, endsConnection, cause } = this;
    return new ApiError(code, {
      message,
      endsConnection,
      cause,
      ...(param === undefined ? {} : { param }),
      ...(docs === undefined ? {} : { docs }),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
      ...(shortage === undefined ? {} : { shortage }),
      ...changed,
    });
  }
}

/** Presents an error in the form that the client of a request knows. */
export type PresentError = (error: ApiError, requestId: string, origin?: string) => object;

/** The standard error body. `origin` is the public address of the gateway, for links to its documentation. */
export function presentError(error: ApiError, origin = '') {
  const { message, docs } = error;
  return {
    error: {
      message: docs === undefined ? message : `${message} See ${origin}/docs/${docs}`,
      type: errorTable[error.code].type,
      ...(error.param === undefined ? {} : { param: error.param }),
      code: error.code,
    },
  };
}
