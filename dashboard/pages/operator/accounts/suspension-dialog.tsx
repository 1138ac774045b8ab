import type { OperatorAccount } from '../../../../src/console/operator-contract.ts';
import { ConfirmDialog } from '../../../kit/confirm-dialog.tsx';
import { showToast } from '../../../kit/toast.tsx';
import { useSuspension } from './queries.ts';

type SuspensionDialogProps = Readonly<{
  account: OperatorAccount;
  action: 'suspend' | 'resume';
  onClose: () => void;
}>;

export function SuspensionDialog({ account, action, onClose }: SuspensionDialogProps) {
  const { mutateAsync } = useSuspension(account.id, action);
  const isSuspending = action === 'suspend';
  const confirm = async () => {
    await mutateAsync({});
    showToast(
      'good',
      `The account “${account.name}” ${isSuspending ? 'is suspended' : 'can be used again'}.`,
    );
  };
  return (
    <ConfirmDialog
      title={`${isSuspending ? 'Suspend' : 'Resume'} ${account.name}?`}
      confirmLabel={isSuspending ? 'Suspend the account' : 'Resume the account'}
      isDangerous={isSuspending}
      onConfirm={confirm}
      onClose={onClose}
    >
      {isSuspending ? (
        <>
          New requests with any of its keys are refused within seconds. Requests that are running end as usual
          and are charged. Its members can still sign in, and see that it is suspended. The balance stays as
          it is, and you can resume the account at any time.
        </>
      ) : (
        'Its keys work again within seconds, with the limits and the balance that they had.'
      )}
    </ConfirmDialog>
  );
}
