import type { GenerationDetail } from '../../../src/console/contract.ts';
import { formatMoneyExactly, signOfMoney } from '../../kit/amounts.ts';
import { aboutEstimates } from '../../kit/badge.tsx';

/** Why a request failed and what to do about it, for people who did not write the gateway. */
type Explanation = Readonly<{ what: string; todo: string }>;

const again = 'Send the request again.';
const againSoon = 'Send the request again in a moment. If it goes on, choose another model.';
const askOperator = 'Tell the operator of this gateway, with the request ID.';
const shorter = 'Send it again. If it goes on, try without streaming, or another model.';

// biome-ignore format: one line a code is what makes this table readable.
const explanations = new Map<string, Explanation>([
  ['insufficient_balance', { what: 'The balance did not cover what the answer cost.', todo: 'Ask the operator for credit, then send the request again.' }],
  ['rate_limit_exceeded', { what: 'The key sent more requests in a minute than it may.', todo: 'Send more slowly, or raise the limit of the key.' }],
  ['provider_rate_limit', { what: 'The provider takes no more requests at the moment.', todo: againSoon }],
  ['provider_unavailable', { what: 'The provider is down or overloaded.', todo: againSoon }],
  ['all_providers_unavailable', { what: 'No provider of this model was able to answer.', todo: againSoon }],
  ['provider_timeout', { what: 'The provider took too long to answer.', todo: 'Send it again. A shorter request or a lower limit of output tokens is answered sooner.' }],
  ['provider_bad_request', { what: 'The provider did not accept the request as it is.', todo: 'Check the parameters, the size of the messages and the images. Sending the same again will not help.' }],
  ['provider_authentication_error', { what: 'The provider did not accept the credentials of this gateway. Your key is fine.', todo: askOperator }],
  ['provider_not_configured', { what: 'This gateway has no access to a provider of this model.', todo: `Choose another model. ${askOperator}` }],
  ['configuration_error', { what: 'This model is not set up properly on this gateway.', todo: `Choose another model. ${askOperator}` }],
  ['provider_error', { what: 'The provider could not be reached, or its answer could not be read.', todo: againSoon }],
  ['provider_unknown_error', { what: 'The provider failed and did not say why.', todo: againSoon }],
  ['provider_stream_error', { what: 'The answer broke off on the way from the provider.', todo: shorter }],
  ['empty_provider_stream', { what: 'The provider began to answer and then sent nothing.', todo: shorter }],
  ['malformed_stream_chunk', { what: 'A part of the answer could not be read.', todo: shorter }],
  ['repeated_streaming_chunk_limit', { what: 'The provider sent the same piece over and over, so the answer was stopped.', todo: 'Change the wording of the request, or choose another model.' }],
  ['usage_missing', { what: 'The provider did not report how much was used, so nothing could be charged.', todo: again }],
  ['streaming_error', { what: 'The answer could not be passed on.', todo: `${again} If it goes on, tell the operator, with the request ID.` }],
  ['billing_consistency_error', { what: 'The answer could not be charged correctly, so it was not delivered.', todo: askOperator }],
  ['billing_temporarily_unavailable', { what: 'The charge could not be stored at once. It is settled later.', todo: 'There is nothing to do. If the answer did not reach you, send the request again.' }],
  ['gateway_interrupted', { what: 'The gateway stopped before the request was finished.', todo: again }],
  ['internal_error', { what: 'Something went wrong inside the gateway.', todo: askOperator }],
]);

/** `message` is what the gateway itself says of the code, for one that is not in the table. */
export function explainError(code: string, message: string): Explanation {
  return (
    explanations.get(code) ?? {
      what: message,
      todo: `If it goes on, tell the operator, with the request ID.`,
    }
  );
}

/** The short form, for one of several attempts. */
export function explainAttempt(code: string): string {
  return explanations.get(code)?.what ?? 'It failed.';
}

type MoneyOutcome = Readonly<{
  label: 'Held' | 'Charged' | 'Charged in part' | 'Refunded' | 'Written off' | 'Not charged';
  tone: 'accent' | 'good' | 'warn' | 'plain';
  text: string;
}>;

// biome-ignore format: one line a reason is what makes this table readable.
const reasons = new Map<string, string>([
  ['usage_missing', 'The provider did not say how much was used, and what is not known is not charged.'],
  ['insufficient_balance', 'The balance did not cover it.'],
  ['interrupted', 'The gateway stopped before the request was finished.'],
]);

/** Reasons that leave the charge as it is: what was delivered is paid for, and the rest is nobody's debt. */
const withoutShare: ReadonlySet<string | null> = new Set([null, 'implausible_usage']);

/** What happened to the money of a request, in a sentence or two. */
export function describeMoney(ledger: GenerationDetail['ledger']): MoneyOutcome {
  if (ledger === null) {
    return {
      label: 'Held',
      tone: 'accent',
      text: 'Nothing is charged yet. What the request can cost at most is held until it ends.',
    };
  }
  if (ledger.refunded !== null) {
    return {
      label: 'Refunded',
      tone: 'plain',
      text: `${formatMoneyExactly(ledger.charged)} was taken from the balance and given back, because the response could not be delivered.`,
    };
  }
  if (ledger.is_estimated) {
    const { text, ...outcome } = describeEnding({ ...ledger, write_off_reason: estimatedReason(ledger) });
    return { ...outcome, text: `${text} ${aboutEstimates}` };
  }
  return describeEnding(ledger);
}

type Ended = NonNullable<GenerationDetail['ledger']>;

/** An estimate takes the place of the usage that is missing: only what the balance did not cover is left to be told. */
function estimatedReason({ write_off_reason: reason }: Ended): string | null {
  return reason === 'usage_missing' ? null : reason;
}

function describeEnding(ledger: Ended): MoneyOutcome {
  const isCharged = signOfMoney(ledger.charged) > 0;
  const reason = reasons.get(ledger.write_off_reason ?? '') ?? '';
  const loss = ledger.written_off === null ? '' : formatMoneyExactly(ledger.written_off);
  if (withoutShare.has(ledger.write_off_reason)) {
    return isCharged
      ? { label: 'Charged', tone: 'good', text: 'The total was taken from the balance, once.' }
      : {
          label: 'Not charged',
          tone: 'plain',
          text: 'Nothing was taken from the balance. What was held is free again.',
        };
  }
  if (isCharged) {
    return {
      label: 'Charged in part',
      tone: 'warn',
      text: `${formatMoneyExactly(ledger.charged)} was taken from the balance, and ${loss || 'the rest'} was written off. ${reason}`.trim(),
    };
  }
  return {
    label: 'Written off',
    tone: 'warn',
    text: `Nothing was taken from the balance${loss === '' ? '' : `: ${loss} was written off`}. ${reason}`.trim(),
  };
}
