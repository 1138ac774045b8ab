/** One form in the middle of the page, for those who are not signed in. */
import type { FormEvent, ReactNode } from 'react';
import { Card } from '../kit/card.tsx';
import { Page } from '../kit/page.tsx';

type SignedOutCardProps = Readonly<{
  title: string;
  description?: ReactNode;
  onSubmit?: () => void;
  footer?: ReactNode;
  children: ReactNode;
}>;

export function SignedOutCard({ title, description, onSubmit, footer, children }: SignedOutCardProps) {
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit?.();
  };
  return (
    <Page title={title} isCentered {...(description === undefined ? {} : { description })}>
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
