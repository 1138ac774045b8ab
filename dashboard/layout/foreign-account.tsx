/** A page of an account that an operator is no member of, under a banner that says so. Nothing can be changed there. */
import { Outlet, useLocation, useMatch } from '@tanstack/react-router';
import { Building2, Eye, LogOut, SearchX } from 'lucide-react';
import { ApiProblem } from '../api/client.ts';
import { accountIdFor, useForeignAccount } from '../api/session.ts';
import { LinkButton } from '../kit/button.tsx';
import { Card } from '../kit/card.tsx';
import { Page } from '../kit/page.tsx';
import { EmptyState, ErrorState, SkeletonLines } from '../kit/states.tsx';
import { membersOnly } from './destinations.ts';

export function ForeignAccount() {
  const foreign = useForeignAccount();
  const path = useLocation({ select: ({ pathname }) => pathname });
  const isOnPaper = useMatch({ from: '/on-paper', shouldThrow: false }) !== undefined;
  if (foreign.id === null || foreign.isPending) return <SkeletonLines count={8} />;
  if (foreign.isError)
    return foreign.error instanceof ApiProblem && foreign.error.code === 'account_not_found' ? (
      <MissingAccount />
    ) : (
      <ErrorState error={foreign.error} onRetry={foreign.refetch} />
    );
  return (
    <>
      <div className={isOnPaper ? 'mx-auto max-w-3xl px-4 pt-6 print:hidden' : undefined}>
        <Banner id={foreign.id} name={foreign.data.name} />
      </div>
      {membersOnly.has(path) ? <NotForOperators /> : <Outlet />}
    </>
  );
}

function Banner({ id, name }: Readonly<{ id: string; name: string }>) {
  const own = accountIdFor(undefined);
  return (
    <section
      aria-label="Looking as an operator"
      className="mb-6 flex flex-wrap items-center gap-x-4 gap-y-2 rounded-md border border-warn/20 bg-warn-soft px-3 py-2"
    >
      <div className="flex min-w-0 flex-1 basis-96 items-start gap-2.5">
        <Eye aria-hidden className="mt-0.5 size-4 shrink-0 text-warn" />
        <p className="min-w-0 text-ink wrap-anywhere">
          You are looking at <strong className="font-medium">{name}</strong> as an operator. Nothing can be
          changed here.
        </p>
      </div>
      <span className="ml-6.5 flex flex-wrap items-center gap-2">
        <LinkButton to="/operator/accounts/$id" params={{ id }} size="small" icon={Building2}>
          Open the operator’s page
          <span className="sr-only"> of {name}</span>
        </LinkButton>
        {own === undefined ? (
          <LinkButton to="/operator/accounts" size="small" icon={LogOut}>
            Leave
          </LinkButton>
        ) : (
          <LinkButton to="/" search={{ account: own }} size="small" icon={LogOut}>
            Leave
          </LinkButton>
        )}
      </span>
    </section>
  );
}

function MissingAccount() {
  return (
    <Page title="There is no such account">
      <Card>
        <EmptyState
          icon={SearchX}
          title="The link is about an account that does not exist"
          action={<LinkButton to="/operator/accounts">Go to Accounts</LinkButton>}
        >
          Check the address.
        </EmptyState>
      </Card>
    </Page>
  );
}

function NotForOperators() {
  return (
    <Page title="For members only">
      <Card>
        <EmptyState icon={Eye} title="This page is for members of the account">
          What is done here is paid for by the account, or belongs to one of its people.
        </EmptyState>
      </Card>
    </Page>
  );
}
