import { useEffect, useState } from 'react';
import { formatMoneyExactly } from '../../kit/amounts.ts';
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Field, Input } from '../../kit/field.tsx';
import { fieldProblem } from '../../kit/states.tsx';
import { showToast } from '../../kit/toast.tsx';
import { useChangeAlerts, useDoor, useWebhooks } from './queries.ts';

/** Below which balance there is an event. */
export function LowBalanceCard() {
  const { data } = useWebhooks();
  const { mayChange } = useDoor();
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
    <Card
      title="Low balance"
      description="The event balance.low is sent once, when the balance falls below this."
    >
      <form
        className="flex flex-wrap items-end gap-3"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <Field label="Warn below, in USD" error={fieldProblem(changing.error, 'low_balance')}>
          <Input
            value={value}
            inputMode="decimal"
            autoComplete="off"
            placeholder="Never"
            disabled={stored === null || !mayChange}
            onChange={(event) => setWritten(event.target.value)}
          />
        </Field>
        {mayChange && (
          <Button type="submit" isBusy={changing.isPending} disabled={written === null}>
            Save
          </Button>
        )}
      </form>
    </Card>
  );
}
