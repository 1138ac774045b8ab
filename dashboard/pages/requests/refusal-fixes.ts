/** Why a request was refused, and the one thing to do about it, for each code that a refusal can have. */
import type { Refusal } from '../../../src/console/request-contract.ts';
import { formatMoney } from '../../kit/amounts.ts';
import { formatCount } from '../../kit/format-figures.ts';

/** Where the fix is made. */
export type Place = 'billing' | 'key' | 'limits' | 'models' | 'docs';

export type Fix = Readonly<{ what: string; todo: string; place: Place; docs: string }>;

const changeRequest = 'Change the request: sending it again as it is will be refused again.';
const askOperator = 'Send the request ID to the operator of this gateway.';
const againSoon = 'Send it again in a moment. Clients with retries do so by themselves.';

// biome-ignore format: one line per code makes this table readable.
export const fixes: ReadonlyMap<string, Fix> = new Map<string, Fix>([
  ['invalid_json', { what: 'The body was not valid JSON.', todo: changeRequest, place: 'docs', docs: 'errors' }],
  ['invalid_request', { what: 'The body did not have the expected shape.', todo: changeRequest, place: 'docs', docs: 'errors' }],
  ['missing_required_parameter', { what: 'A required parameter was missing.', todo: 'Add the parameter.', place: 'docs', docs: 'errors' }],
  ['invalid_parameter', { what: 'A parameter had the wrong type, range or shape.', todo: 'Correct the parameter.', place: 'docs', docs: 'errors' }],
  ['unsupported_parameter', { what: 'A parameter is not supported.', todo: 'Leave the parameter out.', place: 'docs', docs: 'clients' }],
  ['invalid_model', { what: 'The model is disabled, or serves another kind of request.', todo: 'Choose a model for this endpoint.', place: 'models', docs: 'errors' }],
  ['invalid_n', { what: 'The number of images was not from 1 to 4.', todo: 'Set n to 1, 2, 3 or 4.', place: 'docs', docs: 'images' }],
  ['invalid_size', { what: 'The model does not offer this size.', todo: 'Choose one of the sizes of the model.', place: 'models', docs: 'images' }],
  ['invalid_response_format', { what: 'The response format is not offered.', todo: 'Set response_format to url, or leave it out.', place: 'docs', docs: 'images' }],
  ['model_pricing_not_configured', { what: 'The model has no price here, so it cannot be called.', todo: `Choose another model. ${askOperator}`, place: 'models', docs: 'errors' }],
  ['insufficient_balance', { what: 'The balance did not cover the most that this request could cost.', todo: 'Add credit.', place: 'billing', docs: 'ledger' }],
  ['model_not_allowed', { what: 'The key may not call this model.', todo: 'Allow the model in the settings of the key, or choose another model.', place: 'key', docs: 'keys' }],
  ['monthly_spend_limit_exceeded', { what: 'The monthly limit of the key did not cover the most that this request could cost.', todo: 'Raise the monthly limit of the key.', place: 'key', docs: 'keys' }],
  ['spend_limit_exceeded', { what: 'A limit on spending did not cover the most that this request could cost.', todo: 'Raise the limit.', place: 'limits', docs: 'limits' }],
  ['model_not_found', { what: 'There is no model with this name.', todo: 'Correct the name.', place: 'models', docs: 'errors' }],
  ['rate_limit_exceeded', { what: 'A limit on requests, tokens or concurrency was reached.', todo: 'Send fewer at a time, or raise the limit.', place: 'limits', docs: 'limits' }],
  ['provider_rate_limit', { what: 'The provider was limiting requests.', todo: againSoon, place: 'models', docs: 'errors' }],
  ['internal_error', { what: 'Something went wrong inside the gateway.', todo: askOperator, place: 'docs', docs: 'errors' }],
  ['server_not_configured', { what: 'The gateway is not configured for this request.', todo: askOperator, place: 'docs', docs: 'errors' }],
  ['balance_lookup_failed', { what: 'The balance could not be read.', todo: againSoon, place: 'docs', docs: 'errors' }],
  ['monthly_spend_lookup_failed', { what: 'The spend of this month could not be read.', todo: againSoon, place: 'docs', docs: 'errors' }],
  ['model_pricing_lookup_failed', { what: 'The price of the model could not be read.', todo: againSoon, place: 'docs', docs: 'errors' }],
  ['billing_consistency_error', { what: 'The request could not be charged correctly.', todo: askOperator, place: 'docs', docs: 'errors' }],
  ['provider_attempt_create_failed', { what: 'The call to the provider could not be recorded.', todo: againSoon, place: 'docs', docs: 'errors' }],
  ['configuration_error', { what: 'The model is not configured correctly here.', todo: `Choose another model. ${askOperator}`, place: 'models', docs: 'errors' }],
  ['provider_authentication_error', { what: 'The provider rejected the credentials of this gateway. Your key is fine.', todo: askOperator, place: 'docs', docs: 'errors' }],
  ['provider_bad_request', { what: 'The provider rejected the request.', todo: changeRequest, place: 'docs', docs: 'errors' }],
  ['provider_unavailable', { what: 'The provider was unavailable.', todo: againSoon, place: 'models', docs: 'errors' }],
  ['provider_unknown_error', { what: 'The provider failed without a reason.', todo: againSoon, place: 'models', docs: 'errors' }],
  ['provider_error', { what: 'The provider could not be reached, or did not answer properly.', todo: againSoon, place: 'models', docs: 'errors' }],
  ['provider_stream_error', { what: 'The stream from the provider failed.', todo: againSoon, place: 'models', docs: 'errors' }],
  ['provider_not_configured', { what: 'No provider of this model is configured here.', todo: `Choose another model. ${askOperator}`, place: 'models', docs: 'errors' }],
  ['server_overloaded', { what: 'The gateway was overloaded.', todo: againSoon, place: 'docs', docs: 'errors' }],
  ['limits_changed', { what: 'The limits of the account were being changed.', todo: againSoon, place: 'limits', docs: 'limits' }],
  ['all_providers_unavailable', { what: 'No provider of this model could be called.', todo: 'Send it again in a moment, or choose another model.', place: 'models', docs: 'errors' }],
  ['provider_timeout', { what: 'The provider did not answer in time.', todo: 'Send it again. A shorter request is faster.', place: 'models', docs: 'errors' }],
]);

export type ExplainedRefusal = Fix &
  Readonly<{
    /** What was needed and what was there, such as `hold $0.032, available $0.0144`. */
    figures: string | null;
  }>;

type Explained = Pick<Refusal, 'error_code' | 'message' | 'param' | 'shortage' | 'retry_after_seconds'>;

export function explainRefusal(refusal: Explained): ExplainedRefusal {
  const { error_code: code, message, param, shortage, retry_after_seconds: seconds } = refusal;
  const fix = fixes.get(code) ?? { what: message, todo: changeRequest, place: 'docs', docs: 'errors' };
  const todo = [
    todoOf(fix, refusal),
    seconds === null ? '' : `It could be sent again after ${formatCount(seconds)} s.`,
  ];
  return {
    ...fix,
    what: param !== null && codesOfParameters.has(code) ? fix.what.replace(/\.$/, `: ${param}.`) : fix.what,
    todo: todo.filter((sentence) => sentence !== '').join(' '),
    figures: shortage === null ? null : figuresOf(shortage, isOfMoney(code)),
  };
}

/** Where it is the question which one. */
const codesOfParameters = new Set([
  'invalid_request',
  'missing_required_parameter',
  'invalid_parameter',
  'unsupported_parameter',
]);

const codesOfMoney = new Set([
  'insufficient_balance',
  'monthly_spend_limit_exceeded',
  'spend_limit_exceeded',
]);

function isOfMoney(code: string): boolean {
  return codesOfMoney.has(code);
}

function figuresOf({ needed, available }: NonNullable<Refusal['shortage']>, isMoney: boolean): string {
  return isMoney
    ? `Hold ${formatMoney(needed)}, available ${formatMoney(available)}`
    : `Needed ${formatCount(Number(needed))}, available ${formatCount(Number(available))}`;
}

/** A shorter response needs a smaller hold, so it may fit without more money. */
function todoOf({ todo }: Fix, { shortage }: Explained): string {
  const fitting = shortage?.fitting_max_tokens ?? null;
  if (fitting === null || fitting < 1) return todo;
  return `${todo.replace(/\.$/, '')} or lower max_tokens to ${formatCount(fitting)}.`;
}
