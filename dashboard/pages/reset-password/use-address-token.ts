import { useEffect, useState } from 'react';

/** `link` is another number for each link that was opened, be its token the same or not. */
type AddressToken = Readonly<{ token: string; link: number }>;

/** The token stands behind the #, which browsers keep to themselves: it is in no log. */
function tokenInAddress(): string {
  return new URLSearchParams(location.hash.slice(1)).get('token') ?? '';
}

/** The token of the link that brought one here, and of each that is opened in the same tab afterwards. */
export function useAddressToken(): AddressToken {
  const [opened, setOpened] = useState<AddressToken>(() => ({ token: tokenInAddress(), link: 0 }));
  useEffect(() => {
    forgetInAddress();
    const openNext = () => {
      if (location.hash === '') return;
      const token = tokenInAddress();
      forgetInAddress();
      setOpened(({ link }) => ({ token, link: link + 1 }));
    };
    window.addEventListener('hashchange', openNext);
    return () => window.removeEventListener('hashchange', openNext);
  }, []);
  return opened;
}

/** A secret that has been read is not left in the address bar and the history. */
function forgetInAddress(): void {
  if (location.hash !== '') history.replaceState(history.state, '', location.pathname);
}
