import { UserRound } from 'lucide-react';
import { useMe } from '../../api/session.ts';
import { Card } from '../../kit/card.tsx';
import { CopyButton } from '../../kit/copy-button.tsx';
import { EmptyState } from '../../kit/empty-state.tsx';
import { Page } from '../../kit/page.tsx';

/** For a person who is signed in and belongs to no account yet. */
export function NoAccountPage() {
  const { user } = useMe();
  return (
    <Page title="Welcome">
      <Card>
        <EmptyState
          icon={UserRound}
          title="You belong to no account yet"
          action={<CopyButton text={user.email} label="Copy your e-mail" isWide />}
        >
          Keys, usage and balance belong to an account. Ask the operator of this gateway, or the owner of an
          account, to add <strong className="font-medium text-ink wrap-anywhere">{user.email}</strong>. Then
          load this page again.
        </EmptyState>
      </Card>
    </Page>
  );
}
