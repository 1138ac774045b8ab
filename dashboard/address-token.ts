/** The token of a one-time link, which is in the fragment of its address. */
import { useEffect, useState } from 'react';

/** `link` counts the links that were opened, even those with the same token. */
type AddressToken = Readonly<{ token: string; link: number }>;

/** The token is in the fragment, which browsers do not send, so it appears in no log. */
function tokenInAddress(): string {
  return new URLSearchParams(location.hash.slice(1)).get('token') ?? '';
}

/** The token of the link that was opened last, which may be another one in the same tab. */
export function useAddressToken(): AddressToken {
  const [opened, setOpened] = useState<AddressToken>(() => ({ token: tokenInAddress(), link: 0 }));
  useEffect(() => {
    removeFromAddress();
    const openNext = () => {
      if (location.hash === '') return;
      const token = tokenInAddress();
      removeFromAddress();
      setOpened(({ link }) => ({ token, link: link + 1 }));
    };
    window.addEventListener('hashchange', openNext);
    return () => window.removeEventListener('hashchange', openNext);
  }, []);
  return opened;
}

/** The secret must not stay in the address bar and the history. */
function removeFromAddress(): void {
  if (location.hash !== '') history.replaceState(history.state, '', location.pathname);
}
