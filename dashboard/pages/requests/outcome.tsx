/** Why a Generation did not complete, as its account sees it. */
import type { GenerationDetail } from '../../../src/console/contract.ts';
import { LinkButton } from '../../kit/button.tsx';
import { Callout } from '../../kit/callout.tsx';
import { explainError } from './explain.ts';

type OutcomeProps = Readonly<{ generation: Pick<GenerationDetail, 'status' | 'error'> }>;

export function Outcome({ generation: { status, error } }: OutcomeProps) {
  if (error !== null) {
    const { what, todo } = explainError(error.code, error.message);
    return (
      <Callout
        tone="bad"
        title={what}
        actions={
          error.code === 'insufficient_balance' ? (
            <LinkButton to="/billing" size="small">
              Go to billing
            </LinkButton>
          ) : undefined
        }
      >
        <p>{todo}</p>
        <p className="mt-1 text-xs">
          Code <code className="font-mono">{error.code}</code>
        </p>
      </Callout>
    );
  }
  if (status !== 'cancelled') return null;
  return (
    <Callout title="The client disconnected before the response was complete.">
      The provider still finishes the response, so all of it may be charged.
    </Callout>
  );
}
