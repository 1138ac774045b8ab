/** The parts of an account's page. Which one is shown is in the address. */
import { Link } from '@tanstack/react-router';
import { ArrowUpRight } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { useSearchParameters } from '../../../address.ts';

export const accountTabs = [
  { value: 'activity', label: 'Activity' },
  { value: 'keys', label: 'Keys' },
  { value: 'statement', label: 'Statement' },
  { value: 'grants', label: 'Grants' },
  { value: 'members', label: 'Members' },
  { value: 'limits', label: 'Limits' },
  { value: 'log', label: 'Log' },
] as const;
export type AccountTab = (typeof accountTabs)[number]['value'];

/** Whoever opens an account wants to know what happened. */
const defaultTab: AccountTab = 'activity';

/** Requests have a page of their own, with all that can be asked of them. */
export const requestsOf = (accountId: string) =>
  ({ to: '/operator/requests', search: { account: accountId } }) as const;

export function useAccountTab(): AccountTab | 'requests' {
  const { tab } = useSearchParameters();
  if (tab === 'requests') return tab;
  return accountTabs.find(({ value }) => value === tab)?.value ?? defaultTab;
}

const tabClass =
  '-mb-px inline-flex items-center gap-1 border-b-2 border-transparent py-2 whitespace-nowrap text-ink-soft -outline-offset-2 hover:text-ink aria-[current=page]:border-accent-text aria-[current=page]:font-medium aria-[current=page]:text-ink';

/** Links and not buttons: each can be copied, and opened in another tab of the browser. */
export function AccountTabs({ accountId, tab }: Readonly<{ accountId: string; tab: AccountTab }>) {
  const ref = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: on a phone not all fit, and the one that is shown is in sight.
  useEffect(() => {
    const nav = ref.current;
    const shown = nav?.querySelector<HTMLElement>('[aria-current=page]') ?? null;
    if (nav === null || shown === null) return;
    nav.scrollLeft = shown.offsetLeft - (nav.clientWidth - shown.offsetWidth) / 2;
  }, [tab]);
  return (
    <nav
      ref={ref}
      aria-label="Parts of the account"
      className="relative flex gap-5 scroll-px-12 overflow-x-auto border-b border-line"
    >
      {accountTabs.map(({ value, label }) => (
        <Link
          key={value}
          to="/operator/accounts/$id"
          params={{ id: accountId }}
          search={{ tab: value === defaultTab ? undefined : value }}
          activeOptions={{ explicitUndefined: true }}
          resetScroll={false}
          // Also where the address names a tab that there is not.
          aria-current={value === tab ? 'page' : undefined}
          className={tabClass}
        >
          {label}
        </Link>
      ))}
      <Link {...requestsOf(accountId)} className={tabClass}>
        Requests
        <ArrowUpRight aria-hidden className="size-3.5 text-ink-faint" />
      </Link>
    </nav>
  );
}
