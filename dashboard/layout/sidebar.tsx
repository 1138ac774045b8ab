import { Link, type LinkProps } from '@tanstack/react-router';
import {
  BookMarked,
  Boxes,
  Building2,
  ChartColumn,
  ChartNoAxesCombined,
  ClipboardList,
  CreditCard,
  Gauge,
  KeyRound,
  KeySquare,
  LayoutDashboard,
  ListTree,
  type LucideIcon,
  MessageSquareText,
  Monitor,
  Moon,
  Plug,
  ReceiptText,
  Scale,
  Server,
  Split,
  Sun,
  UserSearch,
  Users,
  UsersRound,
  Webhook,
} from 'lucide-react';
import { useState } from 'react';
import { type Account, useMe, useSelectedAccount } from '../api/session.ts';
import { Badge } from '../kit/badge.tsx';
import { Segmented } from '../kit/choice.tsx';
import { formatCount } from '../kit/format-figures.ts';
import { useDeadLetters } from '../pages/operator/operator-query.ts';
import { chooseTheme, storedTheme } from '../theme.ts';
import { membersOnly } from './foreign-account.tsx';
import { AccountSwitcher, PersonMenu } from './sidebar-menus.tsx';

export function Sidebar() {
  const { user } = useMe();
  const account = useSelectedAccount();
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <AccountSwitcher />
      <nav aria-label="Pages" className="min-h-0 flex-1 overflow-y-auto px-3 pb-4">
        {account !== null && <Destinations list={destinationsFor(account)} />}
        {user.is_operator && <OperatorDestinations />}
      </nav>
      <div className="space-y-2 border-t border-line p-3">
        <ThemeSwitch />
        <PersonMenu />
      </div>
    </div>
  );
}

function OperatorDestinations() {
  const count = useDeadLetters().data?.total ?? 0;
  return (
    <>
      <p className="px-2.5 pt-5 pb-1.5 text-2xs font-medium tracking-wide text-ink-faint uppercase">
        Operator
      </p>
      <Destinations list={operatorDestinations} failedSettlements={count} />
    </>
  );
}

type DestinationsProps = Readonly<{ list: readonly Destination[]; failedSettlements?: number }>;

function Destinations({ list, failedSettlements = 0 }: DestinationsProps) {
  return (
    <ul className="space-y-px">
      {list.map(({ to, label, icon: Icon }) => (
        <li key={to}>
          <Link
            to={to}
            activeOptions={{ exact: to === '/', includeSearch: false }}
            className="flex h-8 items-center gap-2.5 rounded-md px-2.5 text-ink-soft transition-colors duration-100 hover:bg-hover hover:text-ink aria-[current=page]:bg-hover aria-[current=page]:font-medium aria-[current=page]:text-ink [&>svg]:aria-[current=page]:text-accent-text"
          >
            <Icon aria-hidden className="size-4 text-ink-faint" />
            {label}
            {to === '/operator/ledger' && failedSettlements > 0 && (
              <FailedSettlements count={failedSettlements} />
            )}
          </Link>
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

type Destination = Readonly<{ to: NonNullable<LinkProps['to']>; label: string; icon: LucideIcon }>;

const accountDestinations: readonly Destination[] = [
  { to: '/', label: 'Overview', icon: LayoutDashboard },
  { to: '/keys', label: 'Keys', icon: KeyRound },
  { to: '/limits', label: 'Limits', icon: Gauge },
  { to: '/models', label: 'Models', icon: Boxes },
  { to: '/generations', label: 'Generations', icon: ListTree },
  { to: '/usage', label: 'Usage', icon: ChartColumn },
  { to: '/billing', label: 'Billing', icon: CreditCard },
  { to: '/team', label: 'Team', icon: UsersRound },
  { to: '/webhooks', label: 'Webhooks', icon: Webhook },
  { to: '/audit-log', label: 'Audit log', icon: ClipboardList },
  { to: '/playground', label: 'Playground', icon: MessageSquareText },
  { to: '/decisions', label: 'Decisions', icon: Split },
];

/** Only owners see who changed what, and where events are sent. */
const ownersOnly = new Set<LinkProps['to']>(['/audit-log', '/webhooks']);

function destinationsFor({ role }: Pick<Account, 'role'>): readonly Destination[] {
  return accountDestinations.filter(({ to }) =>
    role === 'operator' ? !membersOnly.has(to) : role === 'owner' || !ownersOnly.has(to),
  );
}

const operatorDestinations: readonly Destination[] = [
  { to: '/operator/accounts', label: 'Accounts', icon: Building2 },
  { to: '/operator/users', label: 'Users', icon: Users },
  { to: '/operator/providers', label: 'Providers', icon: Plug },
  { to: '/operator/generations', label: 'End users', icon: UserSearch },
  { to: '/operator/catalog', label: 'Catalogue', icon: BookMarked },
  { to: '/operator/nodes', label: 'Nodes', icon: Server },
  { to: '/operator/margins', label: 'Margins', icon: ChartNoAxesCombined },
  { to: '/operator/ledger', label: 'Ledger', icon: Scale },
  { to: '/operator/payments', label: 'Payments', icon: CreditCard },
  { to: '/operator/reconciliation', label: 'Reconciliation', icon: ReceiptText },
  { to: '/operator/tokens', label: 'Admin tokens', icon: KeySquare },
  { to: '/operator/webhooks', label: 'Webhooks', icon: Webhook },
  { to: '/operator/audit-log', label: 'Audit log', icon: ClipboardList },
];

const options = [
  { value: 'system', name: 'System', label: <Monitor aria-hidden className="size-4" /> },
  { value: 'light', name: 'Light', label: <Sun aria-hidden className="size-4" /> },
  { value: 'dark', name: 'Dark', label: <Moon aria-hidden className="size-4" /> },
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
