import { useQuery } from '@tanstack/react-query';
import { meQuery, wasSignedIn } from '../api/session.ts';
import { AppLayout, PendingApp } from './app-layout.tsx';
import { NotFoundPage, UnknownAddressPage } from './fallback-pages.tsx';

/**
 * For an address without a page. Who is signed in keeps the menu. Nobody is asked for who never signed in here: without a
 * session, the answer would lead them to the sign-in.
 */
export function MissingPage() {
  const { data: me, isPending, isEnabled } = useQuery({ ...meQuery, enabled: wasSignedIn() });
  if (me !== undefined)
    return (
      <AppLayout>
        <NotFoundPage />
      </AppLayout>
    );
  return isEnabled && isPending ? <PendingApp /> : <UnknownAddressPage />;
}
