/** A response: its text as Markdown, its tool calls, how it ended, and what it cost. */
import { Link } from '@tanstack/react-router';
import { LoaderCircle, RotateCw, Wrench } from 'lucide-react';
import { StatusBadge } from '../../kit/badge.tsx';
import { Button } from '../../kit/button.tsx';
import { Callout } from '../../kit/callout.tsx';
import { textLinkClass } from '../../kit/class-names.ts';
import { RequestId } from '../../kit/copy-button.tsx';
import { Money } from '../../kit/figures.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { useKeptFocus } from '../../kit/keep-focus.ts';
import { Markdown } from '../../kit/markdown/markdown.tsx';
import { useRequest } from '../requests/queries.ts';
import { useAccountScope } from '../requests/scope.ts';
import { messageSelector } from './composer.tsx';
import type { AssistantTurn, Ending, ToolCall } from './conversation.ts';
import { adviceFor, describeFinish, guideOf, settingOf, titleFor, wasAdmitted } from './ending-words.ts';

type AssistantTurnViewProps = Readonly<{
  turn: AssistantTurn;
  /** Only for the last response. */
  onRetry: (() => void) | null;
}>;

export function AssistantTurnView({ turn, onRetry }: AssistantTurnViewProps) {
  const { text, toolCalls, ending, requestId } = turn;
  return (
    <div className="space-y-3">
      {text !== '' && <ResponseText text={text} />}
      {toolCalls.map((call, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: calls are added at the end and never move.
        <ToolCallView key={at} call={call} />
      ))}
      {ending === null ? (
        <Waiting text={text === '' ? 'Waiting for the response …' : 'Writing …'} />
      ) : (
        <EndingNote ending={ending} onRetry={onRetry} />
      )}
      {ending !== null && requestId !== null && (
        <GenerationNote
          requestId={requestId}
          hasGeneration={ending.kind !== 'failed' || wasAdmitted(ending.problem)}
          hasStatus={ending.kind !== 'finished'}
        />
      )}
    </div>
  );
}

/** JSON is not Markdown, although it may contain the same characters. */
function ResponseText({ text }: Readonly<{ text: string }>) {
  if (!/^\s*(?:\{|\[\s*[[{"])/.test(text)) return <Markdown text={text} />;
  return <p className="font-mono text-[0.8125rem]/5 whitespace-pre-wrap wrap-anywhere">{text}</p>;
}

export function Waiting({ text }: Readonly<{ text: string }>) {
  return (
    <p className="flex items-center gap-2 text-ink-faint">
      <LoaderCircle aria-hidden className="size-4 animate-spin" />
      {text}
    </p>
  );
}

function ToolCallView({ call }: Readonly<{ call: ToolCall }>) {
  return (
    <div className="rounded-md border border-line bg-sunken">
      <p className="flex items-center gap-2 border-b border-line px-3 py-2 text-[0.8125rem]">
        <Wrench aria-hidden className="size-3.5 text-ink-faint" />
        Calls <code className="font-mono font-medium wrap-anywhere">{call.name}</code>
      </p>
      <pre className="px-3 py-2 font-mono text-[0.8125rem]/5 whitespace-pre-wrap wrap-anywhere">
        {prettyArguments(call.arguments)}
      </pre>
    </div>
  );
}

/** Models may write invalid JSON, which is shown as is. */
function prettyArguments(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function RetryButton({ onRetry }: Readonly<{ onRetry: () => void }>) {
  useKeptFocus(messageSelector);
  return (
    <Button size="small" icon={RotateCw} onClick={onRetry}>
      Try again
    </Button>
  );
}

export function EndingNote({ ending, onRetry }: Readonly<{ ending: Ending; onRetry: (() => void) | null }>) {
  const retry = onRetry === null ? undefined : <RetryButton onRetry={onRetry} />;
  switch (ending.kind) {
    case 'finished': {
      const words = describeFinish(ending.reason);
      return words === null ? null : <Callout tone="warn">{words}</Callout>;
    }
    case 'stopped':
      return (
        <Callout actions={retry}>
          You stopped this response. The provider still finishes it, so all of it may be charged.
        </Callout>
      );
    case 'failed': {
      const setting = settingOf(ending.problem);
      const guide = guideOf(ending.problem);
      return (
        <Callout tone="bad" title={titleFor(ending.problem)} actions={retry} isUrgent>
          {setting !== null && (
            <p>
              Parameter: <code className="font-mono">{setting}</code>
            </p>
          )}
          <p>
            {adviceFor(ending.problem)}
            {guide !== null && (
              <>
                {' '}
                <a href={guide} target="_blank" rel="noopener" className={textLinkClass}>
                  See the guide
                </a>
              </>
            )}
          </p>
        </Callout>
      );
    }
  }
}

type GenerationNoteProps = Readonly<{
  requestId: string;
  /** Requests that were rejected up front have no Generation. */
  hasGeneration: boolean;
  /** Shows the status where the page has not seen the end of the response. */
  hasStatus: boolean;
}>;

/** What a response cost, with a link to its Generation. */
export function GenerationNote({ requestId, hasGeneration, hasStatus }: GenerationNoteProps) {
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-ink-faint">
      <RequestId id={requestId} />
      {hasGeneration && <GenerationCost requestId={requestId} hasStatus={hasStatus} />}
    </div>
  );
}

type GenerationCostProps = Pick<GenerationNoteProps, 'requestId' | 'hasStatus'>;

function GenerationCost({ requestId, hasStatus }: GenerationCostProps) {
  const { data } = useRequest(requestId, useAccountScope());
  const generation = data?.kind === 'generation' ? data.request : undefined;
  const usage = generation?.usage;
  return (
    <>
      {hasStatus && generation !== undefined && <StatusBadge status={generation.status} />}
      {generation?.status === 'in_progress' && <span>Settling …</span>}
      {usage && (
        <span className="figures">
          {usage.unit === 'images'
            ? `${usage.units} ${usage.units === '1' ? 'image' : 'images'}`
            : `${formatCount(usage.input_tokens)} in, ${formatCount(usage.output_tokens)} out`}
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
      <Link to="/requests/$id" params={{ id: requestId }} className={textLinkClass}>
        View request
      </Link>
    </>
  );
}
