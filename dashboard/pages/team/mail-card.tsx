import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { MailChoices, MailKind } from '../../../src/console/event-contract.ts';
import { patch, problemOf } from '../../api/client.ts';
import { accountKey, accountPath, useAccount, useAccountQuery } from '../../api/session.ts';
import { Card } from '../../kit/card.tsx';
import { Switch } from '../../kit/choice.tsx';
import { Loaded } from '../../kit/states.tsx';
import { showToast } from '../../kit/toast.tsx';

const labels: readonly Readonly<{ kind: MailKind; label: string; hint: string }>[] = [
  {
    kind: 'low_balance',
    label: 'Low balance',
    hint: 'Below the balance that is set under Billing, Credit and payments.',
  },
  {
    kind: 'budget',
    label: 'Budgets',
    hint: 'When 80% or 100% of a limit of the account or of a key is used.',
  },
  { kind: 'grant_expiry', label: 'Expiring credit', hint: 'Three days before credit expires.' },
  { kind: 'key_expiry', label: 'Expired keys', hint: 'When an API key has expired.' },
  {
    kind: 'payment',
    label: 'Payments',
    hint: 'When one succeeds, with its receipt, fails, or is refunded or disputed; also automatic top-ups.',
  },
];

/** Which mails the person who looks at the page gets. */
export function MailCard() {
  const { id } = useAccount();
  const choices = useAccountQuery<MailChoices>('mail-choices');
  const queryClient = useQueryClient();
  const queryKey = accountKey(id, 'mail-choices');
  const changing = useMutation({
    mutationFn: (kinds: MailKind[]) => patch<MailChoices>(accountPath(id, 'mail-choices'), { kinds }),
    onSettled: () => queryClient.invalidateQueries({ queryKey }),
    onError: (error) => showToast('bad', problemOf(error).message),
  });
  if (choices.data?.is_mail_on === false) return null;
  return (
    <Card title="Mail to you" description="Each person chooses for themselves.">
      <Loaded query={choices}>
        {({ kinds: stored }) => {
          const kinds = changing.isPending ? changing.variables : stored;
          return (
            <div className="space-y-3">
              {labels.map(({ kind, label, hint }) => (
                <Switch
                  key={kind}
                  label={label}
                  hint={hint}
                  isChecked={kinds.includes(kind)}
                  onChange={(isOn) =>
                    changing.mutate(isOn ? [...kinds, kind] : kinds.filter((one) => one !== kind))
                  }
                />
              ))}
            </div>
          );
        }}
      </Loaded>
    </Card>
  );
}
