import { Outlet } from '@tanstack/react-router';
import { Wordmark } from './wordmark.tsx';

export function SignedOutLayout() {
  return (
    <div className="flex min-h-dvh flex-col items-center px-4 pt-[10vh] pb-10">
      <Wordmark />
      <main className="mt-8 w-full max-w-sm">
        <Outlet />
      </main>
      <p className="mt-auto pt-10 text-xs text-ink-faint">
        <a href="/docs" className="underline underline-offset-2 hover:text-ink">
          API reference
        </a>
      </p>
    </div>
  );
}
