/** The people of the account. Owners say who is what; members see each other. */
import { Link } from '@tanstack/react-router';
import { Users } from 'lucide-react';
import { useState } from 'react';
import type { Member } from '../../../src/console/contract.ts';
import { useAccount, useMe } from '../../api/session.ts';
import { Callout } from '../../kit/callout.tsx';
import { Card } from '../../kit/card.tsx';
import { EmptyState } from '../../kit/empty-state.tsx';
import { ErrorState } from '../../kit/error-state.tsx';
import { Page } from '../../kit/page.tsx';
import { Table } from '../../kit/table.tsx';
import { textLinkClass } from '../../kit/text-link.ts';
import { type MemberAction, memberColumns } from './member-columns.tsx';
import { RemoveDialog, RoleDialog } from './member-dialogs.tsx';
import { useTeam } from './queries.ts';

type OpenDialog = Readonly<{ action: MemberAction; member: Member }>;

export function TeamPage() {
  const { name, role } = useAccount();
  const { user } = useMe();
  const team = useTeam();
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const close = () => setDialog(null);
  const isOwner = role === 'owner';
  return (
    <Page title="Team" description={`Everyone who belongs to ${name}.`}>
      <Callout>
        {user.is_operator ? (
          <>
            As an operator you add people under{' '}
            <Link to="/operator/users" className={textLinkClass}>
              Operator → Users
            </Link>
            . An owner decides here who is an owner and who leaves.
          </>
        ) : isOwner ? (
          'The operator of this gateway adds people: send them the e-mail address and the role. You decide here who is an owner and who leaves.'
        ) : (
          'You are a member of this account. An owner decides who is what, and the operator of this gateway adds people.'
        )}
      </Callout>
      <Card isFlush>
        {team.data === undefined && team.isError ? (
          <ErrorState error={team.error} onRetry={team.refetch} />
        ) : (
          <Table
            caption="People of this account"
            columns={memberColumns({
              ownId: user.id,
              ...(isOwner
                ? { onAct: (action: MemberAction, member: Member) => setDialog({ action, member }) }
                : {}),
            })}
            rows={team.data?.data}
            rowKey={({ id }) => id}
            expectedRows={3}
            empty={
              <EmptyState icon={Users} title="There is nobody here">
                Ask the operator of this gateway to add people.
              </EmptyState>
            }
          />
        )}
      </Card>
      {dialog?.action === 'role' && <RoleDialog member={dialog.member} onClose={close} />}
      {dialog?.action === 'remove' && <RemoveDialog member={dialog.member} onClose={close} />}
    </Page>
  );
}
