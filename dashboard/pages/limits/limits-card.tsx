/** The limits of an account with what is used of them, for its members and for operators. */
import { Gauge, Plus } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import type { Limit } from '../../../src/console/contract.ts';
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { QueryTable, useAddressCursors } from '../../kit/query-table.tsx';
import { EmptyState } from '../../kit/states.tsx';
import { type LimitAction, limitColumns } from './limit-columns.tsx';
import { ChangeLimitDialog, CreateLimitDialog, RemoveLimitDialog } from './limit-dialogs.tsx';
import { type LimitSource, useLimits } from './queries.ts';

type LimitsCardProps = Readonly<{
  source: LimitSource;
  title: string;
  /** Only those of a key, or of an end user. */
  filter?: Readonly<{ keyId: string | null; endUser: string | null }>;
  /** What chooses the filter. */
  controls?: ReactNode;
  /** Beside another list, for its page in the address. */
  cursorPrefix?: string;
}>;

type OpenDialog = Readonly<{ kind: 'create' }> | Readonly<{ kind: LimitAction; limit: Limit }>;

const noFilter = { keyId: null, endUser: null };

export function LimitsCard(props: LimitsCardProps) {
  const { source, title, filter = noFilter, controls, cursorPrefix } = props;
  const cursors = useAddressCursors(cursorPrefix);
  const { keyId, endUser } = filter;
  const limits = useLimits(source, { key_id: keyId, end_user: endUser, cursor: cursors.cursor });
  // Nothing is chosen from nothing.
  const isNarrowed = keyId !== null || endUser !== null || cursors.cursor !== null;
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const close = () => setDialog(null);
  const create = () => setDialog({ kind: 'create' });
  // Owners change only what the account has set.
  const mayChange = ({ set_by: setter }: Limit) =>
    source.maySet && (source.isOperator || setter === 'account');
  return (
    <Card
      title={title}
      isFlush
      {...(source.maySet
        ? {
            actions: (
              <Button icon={Plus} onClick={create}>
                New limit
              </Button>
            ),
          }
        : {})}
    >
      {isNarrowed || limits.data?.data.length !== 0 ? controls : null}
      <QueryTable
        query={limits}
        errorTitle="The limits could not be loaded"
        caption="Limits of this account"
        columns={limitColumns(mayChange, (kind, limit) => setDialog({ kind, limit }))}
        rows={limits.data?.data}
        rowKey={({ id }) => id}
        expectedRows={2}
        empty={
          <EmptyState icon={Gauge} title="No limits">
            {keyId === null && endUser === null
              ? 'Only the balance and the settings of each key limit what can be used.'
              : 'There are none besides those of the account.'}
          </EmptyState>
        }
        cursors={cursors}
        nextCursor={limits.data?.next_cursor}
      />
      {dialog?.kind === 'create' && <CreateLimitDialog source={source} keyId={keyId} onClose={close} />}
      {dialog?.kind === 'change' && (
        <ChangeLimitDialog source={source} limit={dialog.limit} onClose={close} />
      )}
      {dialog?.kind === 'remove' && (
        <RemoveLimitDialog source={source} limit={dialog.limit} onClose={close} />
      )}
    </Card>
  );
}
