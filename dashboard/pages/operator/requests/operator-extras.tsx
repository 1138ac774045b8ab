import type { GenerationRequest } from '../../requests/generation-content.tsx';
import type { Extras } from '../../requests/request-content.tsx';
import { OperatorNotes, RefundButton } from './operator-notes.tsx';

function Notes({ generation }: Readonly<{ generation: GenerationRequest }>) {
  return <OperatorNotes generation={{ ...generation, reported_usage: generation.reported_usage ?? null }} />;
}

export const operatorExtras: Extras = { Notes, Actions: RefundButton };
