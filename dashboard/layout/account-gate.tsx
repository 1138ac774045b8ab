import { Navigate, Outlet } from '@tanstack/react-router';
import { useChosenAccount, useMe } from '../api/session.ts';
import { NoAccountPage } from '../pages/no-account/no-account-page.tsx';

/** Pages about an account need one. Another account begins each page anew, so nothing of the last one stays behind. */
export function AccountGate() {
  const { user } = useMe();
  const [account] = useChosenAccount();
  if (account !== null) return <Outlet key={account.id} />;
  return user.is_operator ? <Navigate to="/operator/accounts" replace /> : <NoAccountPage />;
}
