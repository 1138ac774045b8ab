import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { signInOptionsQuery, useAccount } from '../../api/session.ts';
import { formatMoneyExactly } from '../../kit/amounts.ts';
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Field, Input } from '../../kit/field.tsx';
import { Form } from '../../kit/form.tsx';
import { fieldProblem } from '../../kit/states.tsx';
import { showToast } from '../../kit/toast.tsx';
import { useAlerts, useChangeAlerts } from './month-queries.ts';

/** Below which balance there is an event, which can be a mail. Owners change it. */
export function LowBalanceCard() {
  const { data } = useAlerts();
  const { role } = useAccount();
  const canMail = useQuery(signInOptionsQuery).data?.password_reset === 'email';
  const stored = data === undefined ? null : (data.low_balance ?? '');
  const [written, setWritten] = useState<string | null>(null);
  const changing = useChangeAlerts();
  // What someone else has changed is shown, unless it is being edited here.
  useEffect(() => setWritten((before) => (before === stored ? null : before)), [stored]);
  const value =
    written ?? (stored === null || stored === '' ? '' : formatMoneyExactly(stored).replace('$', ''));
  const save = () =>
    changing.mutate(
      { low_balance: value.trim() === '' ? null : value.trim() },
      {
        onSuccess: () => {
          setWritten(null);
          showToast('good', 'Saved.');
        },
      },
    );
  return (
    <Card title="Low balance">
      {role === 'owner' ? (
        <Form noValidate onSubmit={save} className="flex flex-wrap items-end gap-3">
          <Field label="Warn below, in USD" error={fieldProblem(changing.error, 'low_balance')}>
            <Input
              value={value}
              inputMode="decimal"
              autoComplete="off"
              placeholder="Never"
              disabled={stored === null}
              onChange={(event) => setWritten(event.target.value)}
            />
          </Field>
          <Button type="submit" isBusy={changing.isPending} disabled={written === null}>
            Save
          </Button>
        </Form>
      ) : (
        <p className="text-ink-soft">
          {stored === null || stored === ''
            ? 'Nobody is warned. An owner of this account can set a balance.'
            : `Below ${formatMoneyExactly(stored)}. Only owners of this account can change it.`}
        </p>
      )}
      <p className="mt-2 text-xs text-ink-faint">
        Once the balance falls below it, webhooks get the event balance.low
        {canMail && ', and an e-mail goes to all who chose it under Team'}.
      </p>
    </Card>
  );
}
