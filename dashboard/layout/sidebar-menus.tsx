import { useMatch, useNavigate } from '@tanstack/react-router';
import { BookOpen, Braces, ChevronsUpDown, CircleUser, LogOut } from 'lucide-react';
import { problemOf } from '../api/client.ts';
import { selectAccount, signOut, useMe, useSelectedAccount } from '../api/session.ts';
import { Badge } from '../kit/badge.tsx';
import { Menu, MenuAnchor, MenuChoice, MenuItem, MenuLabel, MenuLink, MenuSeparator } from '../kit/menu.tsx';
import { showToast } from '../kit/toast.tsx';

/** The name of the account, and a menu for people with several. */
export function AccountSwitcher() {
  const { accounts } = useMe();
  const account = useSelectedAccount();
  const navigate = useNavigate();
  const isOnAccountPage = useMatch({ from: '/signed-in/of-account', shouldThrow: false }) !== undefined;
  const choose = (id: string) => {
    selectAccount(id);
    // The rest of the address, such as a filter by key, is about the account that is left.
    if (isOnAccountPage) navigate({ to: '.', search: { account: id } }).catch(() => {});
  };
  if (account === null) return <div className="h-2" />;
  const face = (
    <>
      <span
        aria-hidden
        className="grid size-5 shrink-0 place-items-center rounded bg-hover text-2xs font-semibold text-ink-soft uppercase"
      >
        {account.name.trim().slice(0, 1) || '?'}
      </span>
      <span className="min-w-0 flex-1 truncate font-medium">{account.name}</span>
      {account.is_suspended && <Badge tone="bad">Suspended</Badge>}
    </>
  );
  if (accounts.length === 0 || (accounts.length === 1 && account.role !== 'operator'))
    return <div className="mx-2 mb-1 flex h-8 items-center gap-2 px-2">{face}</div>;
  return (
    <div className="mx-2 mb-1">
      <Menu
        align="start"
        trigger={
          <button
            type="button"
            className="flex h-8 w-full items-center gap-2 rounded-md px-2 text-left hover:bg-hover"
          >
            <span className="sr-only">Account:</span>
            {face}
            <ChevronsUpDown aria-hidden className="size-4 shrink-0 text-ink-faint" />
          </button>
        }
      >
        <MenuLabel>Accounts</MenuLabel>
        <MenuChoice
          label="Account"
          value={account.id}
          options={accounts.map(({ id, name }) => ({ value: id, label: name }))}
          onChange={choose}
        />
      </Menu>
    </div>
  );
}

export function PersonMenu() {
  const { user } = useMe();
  const navigate = useNavigate();
  const leave = async () => {
    try {
      await signOut(() => navigate({ to: '/sign-in' }));
    } catch (error) {
      showToast('bad', problemOf(error).message);
    }
  };
  return (
    <Menu
      align="start"
      side="top"
      trigger={
        <button
          type="button"
          className="flex w-full items-center gap-2 rounded-md px-2 py-1 text-left hover:bg-hover"
        >
          <span
            aria-hidden
            className="grid size-6 shrink-0 place-items-center rounded-full bg-hover text-2xs font-semibold text-ink-soft uppercase"
          >
            {(user.name || user.email).slice(0, 1)}
          </span>
          <span className="min-w-0 flex-1">
            <span className="block truncate text-xs/4 font-medium">{user.name || user.email}</span>
            {user.name !== '' && <span className="block truncate text-2xs text-ink-faint">{user.email}</span>}
          </span>
          <ChevronsUpDown aria-hidden className="size-4 shrink-0 text-ink-faint" />
        </button>
      }
    >
      <MenuLabel>{user.email}</MenuLabel>
      <MenuLink to="/account" icon={CircleUser}>
        Profile
      </MenuLink>
      <MenuAnchor href="/docs/clients" icon={BookOpen}>
        Guides
      </MenuAnchor>
      <MenuAnchor href="/docs" icon={Braces}>
        API reference
      </MenuAnchor>
      <MenuSeparator />
      <MenuItem icon={LogOut} onSelect={leave}>
        Sign out
      </MenuItem>
    </Menu>
  );
}
