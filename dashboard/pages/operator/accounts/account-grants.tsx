/** The grants and allowances of an account, and what operators do about them. */
import { CircleSlash, CircleStop, Ellipsis, Plus } from 'lucide-react';
import { useState } from 'react';
import type { Allowance, Grant } from '../../../../src/console/grant-contract.ts';
import { Button, IconButton } from '../../../kit/button.tsx';
import { Menu, MenuItem } from '../../../kit/menu.tsx';
import { useAddressCursors } from '../../../kit/query-table.tsx';
import { actionsColumn, type Column } from '../../../kit/table.tsx';
import { CategoryFigures } from '../../grants/category-figures.tsx';
import { grantColumns } from '../../grants/grant-columns.tsx';
import { nameOfGrant } from '../../grants/grant-words.ts';
import {
  AllowancesCard,
  allowanceColumns,
  describeAllowance,
  GrantsCard,
} from '../../grants/grants-card.tsx';
import { useGrants } from '../../grants/queries.ts';
import { CreateAllowanceDialog, EndAllowanceDialog, VoidGrantDialog } from './grant-dialogs.tsx';

type OpenDialog =
  | Readonly<{ kind: 'void'; grant: Grant }>
  | Readonly<{ kind: 'create' }>
  | Readonly<{ kind: 'end'; allowance: Allowance }>;

export function AccountGrants({ accountId }: Readonly<{ accountId: string }>) {
  const cursors = useAddressCursors('grants-');
  const query = useGrants({ accountId, isOperator: true }, cursors.cursor);
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const close = () => setDialog(null);
  const balances = query.data?.balances ?? null;
  return (
    <>
      {balances !== null && <CategoryFigures balances={balances} />}
      <GrantsCard
        query={query}
        cursors={cursors}
        columns={[...grantColumns, voidColumn((grant) => setDialog({ kind: 'void', grant }))]}
        actions={
          <Button icon={Plus} onClick={() => setDialog({ kind: 'create' })}>
            New allowance
          </Button>
        }
      />
      <AllowancesCard
        allowances={query.data?.allowances ?? []}
        columns={[...allowanceColumns, endColumn((allowance) => setDialog({ kind: 'end', allowance }))]}
      />
      {dialog?.kind === 'void' && (
        <VoidGrantDialog accountId={accountId} grant={dialog.grant} onClose={close} />
      )}
      {dialog?.kind === 'create' && <CreateAllowanceDialog accountId={accountId} onClose={close} />}
      {dialog?.kind === 'end' && (
        <EndAllowanceDialog accountId={accountId} allowance={dialog.allowance} onClose={close} />
      )}
    </>
  );
}

/** The balance from before the first grant is not one itself. */
function voidColumn(onVoid: (grant: Grant) => void): Column<Grant> {
  return actionsColumn((grant) =>
    grant.entry_number !== null && grant.state === 'active' ? (
      <Menu trigger={<IconButton icon={Ellipsis} label={`Actions for ${nameOfGrant(grant)}`} />}>
        <MenuItem icon={CircleSlash} isDangerous onSelect={() => onVoid(grant)}>
          Void
        </MenuItem>
      </Menu>
    ) : null,
  );
}

function endColumn(onEnd: (allowance: Allowance) => void): Column<Allowance> {
  return actionsColumn((allowance) =>
    allowance.ended_at === null ? (
      <Menu trigger={<IconButton icon={Ellipsis} label={`Actions for ${describeAllowance(allowance)}`} />}>
        <MenuItem icon={CircleStop} isDangerous onSelect={() => onEnd(allowance)}>
          End
        </MenuItem>
      </Menu>
    ) : null,
  );
}
