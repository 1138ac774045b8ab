import { useQuery } from '@tanstack/react-query';
import { meQuery, wasSignedIn } from '../api/session.ts';
import { AppLayout, PendingApp } from './app-layout.tsx';
import { NotFoundPage, UnknownAddressPage } from './fallback-pages.tsx';

/**
 * For an address without a page. People who are signed in keep the menu. Where nobody ever signed in, the session is not
 * requested: without one, the response would lead to the sign-in.
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
