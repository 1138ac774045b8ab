import { Link } from '@tanstack/react-router';
import { ArrowLeft, Monitor, Moon, Sun } from 'lucide-react';
import { useState } from 'react';
import { useMe, useSelectedAccount } from '../api/session.ts';
import { Badge } from '../kit/badge.tsx';
import { Segmented } from '../kit/choice.tsx';
import { classNames } from '../kit/class-names.ts';
import { formatCount } from '../kit/format-figures.ts';
import { useDeadLetters } from '../pages/operator/operator-query.ts';
import { chooseTheme, storedTheme } from '../theme.ts';
import { type Destination, docsPath, groupsFor, operatorGroups } from './destinations.ts';
import { AccountSwitcher, PersonMenu } from './sidebar-menus.tsx';

export function Sidebar() {
  const { user } = useMe();
  const account = useSelectedAccount();
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <AccountSwitcher />
      <nav aria-label="Pages" className="min-h-0 flex-1 space-y-3 overflow-y-auto px-2 pt-1 pb-4">
        {account !== null &&
          groupsFor(account).map((list) => <Destinations key={list[0]?.label} list={list} />)}
        {user.is_operator &&
          (account?.role === 'operator' ? (
            <BackToGateway />
          ) : (
            <OperatorDestinations isFirst={account === null} />
          ))}
      </nav>
      <div className="space-y-1.5 border-t border-line p-2">
        <ThemeSwitch />
        <PersonMenu />
      </div>
    </div>
  );
}

/** In an account of others the menu is the one that its people have, and this leads out of it. */
function BackToGateway() {
  const count = useDeadLetters().data?.total ?? 0;
  return (
    <div className="border-t border-line pt-3">
      <Link to="/operator" className={destinationClass}>
        <ArrowLeft aria-hidden className="size-3.5 text-ink-faint" />
        Gateway
        {count > 0 && <FailedSettlements count={count} />}
      </Link>
    </div>
  );
}

function OperatorDestinations({ isFirst }: Readonly<{ isFirst: boolean }>) {
  const count = useDeadLetters().data?.total ?? 0;
  return (
    <>
      <p className={classNames('mb-1 px-2 text-2xs text-ink-faint', !isFirst && 'border-t border-line pt-3')}>
        Operator
      </p>
      {operatorGroups.map((list) => (
        <Destinations key={list[0]?.label} list={list} failedSettlements={count} />
      ))}
    </>
  );
}

type DestinationsProps = Readonly<{ list: readonly Destination[]; failedSettlements?: number }>;

const destinationClass =
  'flex h-7 items-center gap-2 rounded-md px-2 text-ink-soft transition-colors duration-100 hover:bg-hover hover:text-ink max-lg:h-9 aria-[current=page]:bg-hover aria-[current=page]:font-medium aria-[current=page]:text-ink [&>svg]:aria-[current=page]:text-ink-soft';

function Destinations({ list, failedSettlements = 0 }: DestinationsProps) {
  return (
    <ul className="space-y-px">
      {list.map(({ to, label, icon: Icon }) => (
        <li key={to}>
          {to === docsPath ? (
            <a href={docsPath} className={destinationClass}>
              <Icon aria-hidden className="size-3.5 text-ink-faint" />
              {label}
            </a>
          ) : (
            <Link
              to={to}
              activeOptions={{ exact: to === '/' || to === '/operator', includeSearch: false }}
              className={destinationClass}
            >
              <Icon aria-hidden className="size-3.5 text-ink-faint" />
              {label}
              {to === '/operator/ledger' && failedSettlements > 0 && (
                <FailedSettlements count={failedSettlements} />
              )}
            </Link>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Shown on every page, because nobody runs an audit without a reason. */
function FailedSettlements({ count }: Readonly<{ count: number }>) {
  const what = count === 1 ? 'failed settlement' : 'failed settlements';
  return (
    <span className="ml-auto" title={`${formatCount(count)} ${what}`}>
      <Badge tone="bad">
        {formatCount(count)}
        <span className="sr-only"> {what}</span>
      </Badge>
    </span>
  );
}

const options = [
  { value: 'system', name: 'System', label: <Monitor aria-hidden className="size-3.5" /> },
  { value: 'light', name: 'Light', label: <Sun aria-hidden className="size-3.5" /> },
  { value: 'dark', name: 'Dark', label: <Moon aria-hidden className="size-3.5" /> },
] as const;

function ThemeSwitch() {
  const [theme, setTheme] = useState(storedTheme);
  return (
    <Segmented
      label="Theme"
      value={theme}
      options={options}
      onChange={(next) => {
        chooseTheme(next);
        setTheme(next);
      }}
      className="flex w-full"
    />
  );
}
