import type { UseMutationResult } from '@tanstack/react-query';
import { Link, Outlet } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Button, LinkButton } from '../kit/button.tsx';
import { Card } from '../kit/card.tsx';
import { textLinkClass } from '../kit/class-names.ts';
import { Form } from '../kit/form.tsx';
import { Page } from '../kit/page.tsx';
import { FormProblem } from '../kit/states.tsx';
import { Wordmark } from './wordmark.tsx';

export function SignedOutLayout() {
  return (
    <div className="flex min-h-dvh flex-col items-center px-4 pt-[10vh] pb-10">
      <header>
        <Wordmark />
      </header>
      <main className="mt-8 w-full max-w-sm">
        <Outlet />
      </main>
      <footer className="mt-auto pt-10 text-xs text-ink-faint">
        <a href="/docs" className="underline underline-offset-2 hover:text-ink">
          API reference
        </a>
      </footer>
    </div>
  );
}

type SignedOutFormProps = Readonly<{
  title: string;
  description?: ReactNode;
  submitLabel: string;
  /** What submitting does. */
  action: Pick<UseMutationResult<unknown, unknown, void>, 'mutate' | 'isPending' | 'error'>;
  /** The names of the fields that show their own errors. */
  ownFields?: readonly string[];
  footer?: ReactNode;
  children: ReactNode;
}>;

/** A form in the middle of the page, for people who are not signed in. */
export function SignedOutForm(props: SignedOutFormProps) {
  const { title, description, submitLabel, action, ownFields, footer, children } = props;
  return (
    <Page title={title} isCentered description={description}>
      <Card>
        <Form onSubmit={() => action.mutate()} className="space-y-4">
          {children}
          <FormProblem error={action.error} fields={ownFields} />
          <Button type="submit" variant="primary" isBusy={action.isPending} className="w-full">
            {submitLabel}
          </Button>
        </Form>
      </Card>
      {footer !== undefined && <p className="text-center text-ink-soft">{footer}</p>}
    </Page>
  );
}

export function BackToSignIn() {
  return (
    <Link to="/sign-in" className={textLinkClass}>
      Back to sign-in
    </Link>
  );
}

type SignedOutMessageProps = Readonly<{ title: string; action?: ReactNode; children: ReactNode }>;

export function SignedOutMessage({ title, action, children }: SignedOutMessageProps) {
  return (
    <Page title={title} isCentered>
      <Card>
        <div className="space-y-4 text-center">
          <p className="text-ink-soft">{children}</p>
          {action ?? <LinkButton to="/sign-in">Back to sign-in</LinkButton>}
        </div>
      </Card>
    </Page>
  );
}
