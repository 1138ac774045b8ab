import { useQueryClient } from '@tanstack/react-query';
import { WifiOff } from 'lucide-react';
import { useEffect } from 'react';
import { get } from '../api/client.ts';
import { useIsReachable } from '../api/reachability.ts';

const lookAgainMs = 5_000;

/** While the gateway is gone, what is on the screen may be old. It is asked for again once the gateway is back. */
export function UnreachableNote() {
  const isReachable = useIsReachable();
  const queryClient = useQueryClient();
  useEffect(() => {
    if (isReachable) return undefined;
    const timer = setInterval(() => {
      get('/api/console/sign-in-options').catch(() => {});
    }, lookAgainMs);
    return () => {
      clearInterval(timer);
      queryClient.invalidateQueries().catch(() => {});
    };
  }, [isReachable, queryClient]);
  return (
    <div role="status">
      {!isReachable && (
        <p className="mb-6 flex items-center gap-2.5 rounded-lg border border-line bg-sunken px-3.5 py-2.5 text-ink-soft">
          <WifiOff aria-hidden className="size-4 shrink-0" />
          The gateway cannot be reached. What you see may be out of date.
        </p>
      )}
    </div>
  );
}
