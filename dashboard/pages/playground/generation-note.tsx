/** What an answer cost, with the way to its Generation. */
import { Link } from '@tanstack/react-router';
import { StatusBadge } from '../../kit/badge.tsx';
import { CopyButton } from '../../kit/copy-button.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { Money } from '../../kit/money.tsx';
import { textLinkClass } from '../../kit/text-link.ts';
import { useGeneration } from './queries.ts';

type GenerationNoteProps = Readonly<{
  requestId: string;
  /** Those that were refused before anything was done have no Generation. */
  hasGeneration: boolean;
  /** Where the page has not seen the end, what became of the request is said too. */
  isOutcomeOpen: boolean;
}>;

export function GenerationNote({ requestId, hasGeneration, isOutcomeOpen }: GenerationNoteProps) {
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-ink-faint">
      <span className="inline-flex min-w-0 items-center gap-1">
        <code className="truncate font-mono" title={requestId}>
          {requestId}
        </code>
        <CopyButton text={requestId} label="Copy the request ID" />
      </span>
      {hasGeneration && <GenerationCost requestId={requestId} isOutcomeOpen={isOutcomeOpen} />}
    </div>
  );
}

type GenerationCostProps = Pick<GenerationNoteProps, 'requestId' | 'isOutcomeOpen'>;

function GenerationCost({ requestId, isOutcomeOpen }: GenerationCostProps) {
  const { data: generation } = useGeneration(requestId);
  const usage = generation?.usage;
  return (
    <>
      {isOutcomeOpen && generation !== undefined && <StatusBadge status={generation.status} />}
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
      <Link to="/generations/$id" params={{ id: requestId }} className={textLinkClass}>
        See the Generation
      </Link>
    </>
  );
}
