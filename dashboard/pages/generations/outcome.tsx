/** How a request ended, where that needs words. */

import type { GenerationDetail } from '../../../src/console/contract.ts';
import { LinkButton } from '../../kit/button.tsx';
import { Callout } from '../../kit/callout.tsx';
import { explainError } from './explain-error.ts';

export function Outcome({ generation }: Readonly<{ generation: GenerationDetail }>) {
  const { status, error } = generation;
  if (error !== null) {
    const { what, todo } = explainError(error.code, error.message);
    return (
      <Callout
        tone="bad"
        title={what}
        {...(error.code === 'insufficient_balance'
          ? {
              actions: (
                <LinkButton to="/billing" size="small">
                  See billing
                </LinkButton>
              ),
            }
          : {})}
      >
        <p>{todo}</p>
        <p className="mt-1 text-xs">
          Code <code className="font-mono">{error.code}</code>
        </p>
      </Callout>
    );
  }
  if (status === 'cancelled') {
    return (
      <Callout title="The client ended the connection before the answer was complete.">
        The provider goes on with the answer, and the whole of it may be charged.
      </Callout>
    );
  }
  return null;
}
