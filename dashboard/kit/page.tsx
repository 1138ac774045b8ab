/** The frame of every page: its title, description and actions. */
import { Link, type LinkProps, useRouterState } from '@tanstack/react-router';
import { ChevronLeft } from 'lucide-react';
import { type ReactNode, useEffect, useRef } from 'react';
import { classNames } from './class-names.ts';

type PageProps = Readonly<{
  title: string;
  /** Replaces the title on the page if it is more than text. */
  heading?: ReactNode;
  description?: ReactNode;
  actions?: ReactNode;
  /** The parent page. */
  back?: Readonly<Pick<LinkProps, 'to' | 'search'> & { label: string }>;
  isCentered?: boolean;
  children: ReactNode;
}>;

/** The path of the last page: only navigation moves the focus to the heading. */
let knownPath: string | null = null;
let hasMoved = false;

/** For a page without this frame: after it, the next one with it is another page. */
export function usePageOfItsOwn(): void {
  useEffect(() => {
    knownPath = '';
  }, []);
}

export function Page(props: PageProps) {
  const { title, heading, description, actions, back, isCentered = false, children } = props;
  const headingRef = useRef<HTMLHeadingElement>(null);
  // The page on the screen, which during navigation is not yet that of the address.
  const path = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname });
  useEffect(() => {
    if (path === undefined) return;
    const isMove = knownPath !== null && knownPath !== path;
    hasMoved ||= isMove;
    knownPath = path;
    // A page that is mounted again once its data is there loses the focus.
    const isFocusLost = hasMoved && document.activeElement === document.body;
    const isTaken = document.activeElement?.matches('main :is(input, textarea, select, dialog *)') ?? false;
    if ((isMove && !isTaken) || isFocusLost) headingRef.current?.focus({ preventScroll: true });
  }, [path]);
  return (
    <>
      <title>{`${title} · Tollgate`}</title>
      <header className="mb-5">
        {back !== undefined && (
          <Link
            to={back.to}
            search={back.search}
            className="mb-2 -ml-1 inline-flex items-center gap-0.5 rounded text-[0.8125rem] text-ink-faint hover:text-ink"
          >
            <ChevronLeft aria-hidden className="size-4" />
            {back.label}
          </Link>
        )}
        <div
          className={classNames(
            'flex flex-wrap items-start gap-x-6 gap-y-3',
            isCentered ? 'justify-center text-center' : 'justify-between',
          )}
        >
          <div className={classNames('min-w-0', !isCentered && 'flex-1 basis-72')}>
            <h1
              ref={headingRef}
              tabIndex={-1}
              className="text-lg/7 font-semibold tracking-tight text-balance wrap-anywhere"
            >
              {heading ?? title}
            </h1>
            {description !== undefined && (
              <p className="max-w-3xl text-ink-faint wrap-anywhere">{description}</p>
            )}
          </div>
          {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </div>
      </header>
      <div className="space-y-8">{children}</div>
    </>
  );
}
