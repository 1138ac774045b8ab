/** The parts of an account's page. Which one is shown is in the address. */
import { Link } from '@tanstack/react-router';
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

export function useAccountTab(): AccountTab {
  const { tab } = useSearchParameters();
  return accountTabs.find(({ value }) => value === tab)?.value ?? defaultTab;
}

const tabClass =
  '-mb-px border-b-2 border-transparent px-0.5 py-2 whitespace-nowrap text-ink-soft -outline-offset-2 hover:text-ink aria-[current=page]:border-accent-text aria-[current=page]:font-medium aria-[current=page]:text-ink';

/** Links and not buttons: each can be copied, and opened in another tab of the browser. */
export function AccountTabs({ accountId }: Readonly<{ accountId: string }>) {
  return (
    <nav aria-label="Parts of the account" className="flex gap-5 overflow-x-auto border-b border-line">
      <a href={`/operator/requests?account=${accountId}`} className={tabClass}>
        Requests
      </a>
      {accountTabs.map(({ value, label }) => (
        <Link
          key={value}
          to="/operator/accounts/$id"
          params={{ id: accountId }}
          search={{ tab: value === defaultTab ? undefined : value }}
          activeOptions={{ explicitUndefined: true }}
          resetScroll={false}
          className={tabClass}
        >
          {label}
        </Link>
      ))}
    </nav>
  );
}
