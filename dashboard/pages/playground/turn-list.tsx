/** The conversation so far, scrolled to its end. */
import { Bot, MessageSquareText, User, Wrench } from 'lucide-react';
import { type ReactNode, useCallback, useEffect, useRef } from 'react';
import { EmptyState } from '../../kit/states.tsx';
import { AssistantTurnView } from './assistant-turn-view.tsx';
import { type ImageInput, isUnanswered, type Turn } from './conversation.ts';

type TurnListProps = Readonly<{ turns: readonly Turn[]; isBusy: boolean; onRetry: () => void }>;

const nearEndPixels = 80;

export function TurnList({ turns, isBusy, onRetry }: TurnListProps) {
  const ref = useRef<HTMLDivElement>(null);
  const isFollowing = useRef(true);
  const lastTop = useRef(0);
  const hasTurns = turns.length > 0;
  const goToEnd = useCallback(() => {
    const list = ref.current;
    if (list === null) return;
    list.scrollTop = list.scrollHeight;
    lastTop.current = list.scrollTop;
  }, []);
  useEffect(() => {
    if (!isBusy) return;
    // A new message scrolls to its response, wherever the reader was.
    isFollowing.current = true;
    goToEnd();
  }, [isBusy, goToEnd]);
  useEffect(() => {
    const list = ref.current;
    const content = list?.firstElementChild;
    if (!list || !content || !hasTurns) return undefined;
    // The end moves with new text, and with a cost that arrives later.
    const observer = new ResizeObserver(() => {
      if (isFollowing.current) goToEnd();
    });
    observer.observe(content);
    return () => observer.disconnect();
  }, [hasTurns, goToEnd]);
  return (
    <div
      ref={ref}
      role="log"
      aria-label="Conversation"
      aria-busy={isBusy}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
      tabIndex={0}
      onScroll={({ currentTarget: list }) => {
        // A reader who scrolled up stays there. New text alone must not count as scrolling up.
        if (list.scrollHeight - list.scrollTop - list.clientHeight < nearEndPixels)
          isFollowing.current = true;
        else if (list.scrollTop < lastTop.current) isFollowing.current = false;
        lastTop.current = list.scrollTop;
      }}
      className="relative h-80 overflow-y-auto px-4 py-5 -outline-offset-2 sm:px-5 lg:h-[clamp(16rem,calc(100dvh-26rem),30rem)]"
    >
      {turns.length === 0 ? (
        <EmptyState icon={MessageSquareText} title="Write your first message below">
          It is sent with the selected key and charged like any other request.
        </EmptyState>
      ) : (
        <ol className="space-y-6">
          {turns.map((turn, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: turns are added at the end and never move.
            <li key={at}>
              <TurnView
                turn={turn}
                isLeftOut={at < turns.length - 2 && isUnanswered(turns, at)}
                onRetry={at === turns.length - 1 && !isBusy ? onRetry : null}
              />
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}

type TurnViewProps = Readonly<{ turn: Turn; isLeftOut: boolean; onRetry: (() => void) | null }>;

function TurnView({ turn, isLeftOut, onRetry }: TurnViewProps) {
  switch (turn.kind) {
    case 'user':
      return (
        <Speaker
          name={isLeftOut ? 'You (left out of the next request)' : 'You'}
          icon={<User aria-hidden className="size-4" />}
        >
          {turn.text !== '' && <p className="whitespace-pre-wrap wrap-anywhere">{turn.text}</p>}
          {turn.images.length > 0 && <Images images={turn.images} />}
        </Speaker>
      );
    case 'tool':
      return (
        <Speaker name={`Result of ${turn.name}`} icon={<Wrench aria-hidden className="size-4" />}>
          <p className="font-mono text-[0.8125rem]/5 whitespace-pre-wrap wrap-anywhere">{turn.result}</p>
        </Speaker>
      );
    case 'assistant':
      return (
        <Speaker name="Model" icon={<Bot aria-hidden className="size-4" />}>
          <AssistantTurnView turn={turn} onRetry={onRetry} />
        </Speaker>
      );
  }
}

function Speaker({ name, icon, children }: Readonly<{ name: string; icon: ReactNode; children: ReactNode }>) {
  return (
    <div className="flex gap-3">
      <span className="grid size-7 shrink-0 place-items-center rounded-full bg-sunken text-ink-soft">
        {icon}
      </span>
      <div className="min-w-0 flex-1 space-y-2">
        <p className="pt-1 text-xs font-medium text-ink-faint">{name}</p>
        {children}
      </div>
    </div>
  );
}

function Images({ images }: Readonly<{ images: readonly ImageInput[] }>) {
  return (
    <div className="flex flex-wrap gap-2">
      {images.map(({ name, url }) => (
        <img
          key={url}
          src={url}
          alt={name}
          className="h-24 max-w-48 rounded-md border border-line object-cover"
        />
      ))}
    </div>
  );
}
