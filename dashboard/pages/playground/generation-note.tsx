/** What an answer cost, with the way to its Generation. */
import { Link } from '@tanstack/react-router';
import { CopyButton } from '../../kit/copy-button.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { Money } from '../../kit/money.tsx';
import { useGeneration } from './queries.ts';

type GenerationNoteProps = Readonly<{
  requestId: string;
  /** Those that were refused before anything was done have no Generation. */
  hasGeneration: boolean;
}>;

export function GenerationNote({ requestId, hasGeneration }: GenerationNoteProps) {
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-ink-faint">
      <span className="inline-flex min-w-0 items-center gap-1">
        <code className="truncate font-mono" title={requestId}>
          {requestId}
        </code>
        <CopyButton text={requestId} label="Copy the request ID" />
      </span>
      {hasGeneration && <GenerationCost requestId={requestId} />}
    </div>
  );
}

function GenerationCost({ requestId }: Readonly<{ requestId: string }>) {
  const { data: generation } = useGeneration(requestId);
  const usage = generation?.usage;
  return (
    <>
      {generation?.status === 'in_progress' && <span>Being settled …</span>}
      {usage && (
        <span className="figures">
          {formatCount(usage.input_tokens)} in, {formatCount(usage.output_tokens)} out
        </span>
      )}
      {generation?.cost && (
        <span>
          Cost <Money amount={generation.cost.total} className="font-medium text-ink" />
        </span>
      )}
      {generation !== undefined && generation.status !== 'in_progress' && !generation.cost && (
        <span>Not charged</span>
      )}
      <Link
        to="/generations/$id"
        params={{ id: requestId }}
        className="rounded text-accent-text underline underline-offset-2"
      >
        See the Generation
      </Link>
    </>
  );
}
