/** What stands in the sidebar. */
import type { LinkProps } from '@tanstack/react-router';
import {
  BookMarked,
  Boxes,
  Building2,
  ChartColumn,
  CreditCard,
  KeyRound,
  LayoutDashboard,
  ListTree,
  type LucideIcon,
  MessageSquareText,
  Plug,
  Scale,
  Server,
  Split,
  Users,
  UsersRound,
} from 'lucide-react';

export type Destination = Readonly<{ to: NonNullable<LinkProps['to']>; label: string; icon: LucideIcon }>;

export const accountDestinations: readonly Destination[] = [
  { to: '/', label: 'Overview', icon: LayoutDashboard },
  { to: '/keys', label: 'Keys', icon: KeyRound },
  { to: '/models', label: 'Models', icon: Boxes },
  { to: '/generations', label: 'Generations', icon: ListTree },
  { to: '/usage', label: 'Usage', icon: ChartColumn },
  { to: '/billing', label: 'Billing', icon: CreditCard },
  { to: '/team', label: 'Team', icon: UsersRound },
  { to: '/playground', label: 'Playground', icon: MessageSquareText },
  { to: '/decisions', label: 'Decisions', icon: Split },
];

export const operatorDestinations: readonly Destination[] = [
  { to: '/operator/accounts', label: 'Accounts', icon: Building2 },
  { to: '/operator/users', label: 'Users', icon: Users },
  { to: '/operator/providers', label: 'Providers', icon: Plug },
  { to: '/operator/catalog', label: 'Catalogue', icon: BookMarked },
  { to: '/operator/nodes', label: 'Nodes', icon: Server },
  { to: '/operator/ledger', label: 'Ledger', icon: Scale },
];
