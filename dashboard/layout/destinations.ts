/** Where the menu leads, in groups. */
import type { LinkProps } from '@tanstack/react-router';
import {
  BookMarked,
  BookOpen,
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
  Plug,
  ReceiptText,
  Scale,
  Server,
  Split,
  Users,
  UsersRound,
  Webhook,
} from 'lucide-react';
import type { Account } from '../api/session.ts';

/** The reference is a page of the gateway, and not of the app. */
export const docsPath = '/docs';

export type Destination = Readonly<{
  to: NonNullable<LinkProps['to']> | typeof docsPath;
  label: string;
  icon: LucideIcon;
}>;

/** What happens and what it costs; then how the account is set up; then what to try and read. */
const accountGroups: readonly (readonly Destination[])[] = [
  [
    { to: '/', label: 'Overview', icon: LayoutDashboard },
    { to: '/requests', label: 'Requests', icon: ListTree },
    { to: '/keys', label: 'Keys', icon: KeyRound },
    { to: '/models', label: 'Models', icon: Boxes },
    { to: '/usage', label: 'Usage', icon: ChartColumn },
    { to: '/billing', label: 'Billing', icon: CreditCard },
  ],
  [
    { to: '/limits', label: 'Limits', icon: Gauge },
    { to: '/team', label: 'Team', icon: UsersRound },
    { to: '/webhooks', label: 'Webhooks', icon: Webhook },
    { to: '/audit-log', label: 'Audit log', icon: ClipboardList },
  ],
  [
    { to: '/playground', label: 'Playground', icon: MessageSquareText },
    { to: '/decisions', label: 'Decisions', icon: Split },
    { to: docsPath, label: 'Docs', icon: BookOpen },
  ],
];

/** Only owners see who changed what, and where events are sent. */
const ownersOnly = new Set<Destination['to']>(['/audit-log', '/webhooks']);

/** What is done with the money of an account, or by each person for themselves. */
export const membersOnly: ReadonlySet<string | undefined> = new Set(['/playground', '/decisions']);

export function groupsFor({ role }: Pick<Account, 'role'>): readonly (readonly Destination[])[] {
  const isShown = ({ to }: Destination) =>
    role === 'operator' ? !membersOnly.has(to) : role === 'owner' || !ownersOnly.has(to);
  return accountGroups.map((list) => list.filter(isShown));
}

/** Customers and traffic; then money; then what the gateway runs on. */
export const operatorGroups: readonly (readonly Destination[])[] = [
  [
    { to: '/operator', label: 'Gateway', icon: LayoutDashboard },
    { to: '/operator/requests', label: 'Requests', icon: ListTree },
    { to: '/operator/accounts', label: 'Accounts', icon: Building2 },
    { to: '/operator/users', label: 'Users', icon: Users },
    { to: '/operator/providers', label: 'Providers', icon: Plug },
  ],
  [
    { to: '/operator/margins', label: 'Margins', icon: ChartNoAxesCombined },
    { to: '/operator/payments', label: 'Payments', icon: CreditCard },
    { to: '/operator/ledger', label: 'Ledger', icon: Scale },
    { to: '/operator/reconciliation', label: 'Reconciliation', icon: ReceiptText },
  ],
  [
    { to: '/operator/catalog', label: 'Catalogue', icon: BookMarked },
    { to: '/operator/nodes', label: 'Nodes', icon: Server },
    { to: '/operator/tokens', label: 'Admin tokens', icon: KeySquare },
    { to: '/operator/webhooks', label: 'Webhooks', icon: Webhook },
    { to: '/operator/audit-log', label: 'Audit log', icon: ClipboardList },
  ],
];
