import { Outlet } from '@tanstack/react-router';
import type { FormEvent, ReactNode } from 'react';
import { LinkButton } from '../kit/button.tsx';
import { Card } from '../kit/card.tsx';
import { Page } from '../kit/page.tsx';
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

type SignedOutCardProps = Readonly<{
  title: string;
  description?: ReactNode;
  onSubmit?: () => void;
  footer?: ReactNode;
  children: ReactNode;
}>;

/** A form in the middle of the page, for people who are not signed in. */
export function SignedOutCard({ title, description, onSubmit, footer, children }: SignedOutCardProps) {
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit?.();
  };
  return (
    <Page title={title} isCentered description={description}>
      <Card>
        {onSubmit === undefined ? (
          children
        ) : (
          <form onSubmit={submit} className="space-y-4">
            {children}
          </form>
        )}
      </Card>
      {footer !== undefined && <p className="text-center text-ink-soft">{footer}</p>}
    </Page>
  );
}

type SignedOutMessageProps = Readonly<{ title: string; action?: ReactNode; children: ReactNode }>;

export function SignedOutMessage({ title, action, children }: SignedOutMessageProps) {
  return (
    <SignedOutCard title={title}>
      <div className="space-y-4 text-center">
        <p className="text-ink-soft">{children}</p>
        {action ?? <LinkButton to="/sign-in">Back to sign-in</LinkButton>}
      </div>
    </SignedOutCard>
  );
}
