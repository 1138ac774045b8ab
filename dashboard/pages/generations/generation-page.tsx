import { useParams } from '@tanstack/react-router';
import type { GenerationDetail } from '../../../src/console/contract.ts';
import { LinkButton } from '../../kit/button.tsx';
import { Callout } from '../../kit/callout.tsx';
import { explainError } from './explain.ts';
import { GenerationView } from './generation-view.tsx';
import { useGeneration } from './queries.ts';

export function GenerationPage() {
  const { id = '' } = useParams({ strict: false });
  return (
    <GenerationView
      id={id}
      query={useGeneration(id)}
      nameOf={({ model }) => model}
      back={{ to: '/generations', label: 'Generations' }}
      missing={{
        title: 'No such request in this account',
        text: 'Check the ID. The request may belong to another account or be older than the retention period. A request that was rejected before it reached a model has no Generation and costs nothing.',
      }}
      notesOf={(generation) => <Outcome generation={generation} />}
    />
  );
}

/** Why a request did not complete. */
function Outcome({ generation: { status, error } }: Readonly<{ generation: GenerationDetail }>) {
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
