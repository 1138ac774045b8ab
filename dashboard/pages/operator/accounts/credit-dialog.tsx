/** Adds money to an account. Every send from one opened dialog is the same credit, however often it is pressed. */
import { useState } from 'react';
import type { OperatorAccount } from '../../../../src/console/operator-contract.ts';
import { Button } from '../../../kit/button.tsx';
import { Callout } from '../../../kit/callout.tsx';
import { Dialog } from '../../../kit/dialog.tsx';
import { Fact, Facts } from '../../../kit/facts.tsx';
import { Field } from '../../../kit/field.tsx';
import { FormDialog } from '../../../kit/form-dialog.tsx';
import { fieldProblem } from '../../../kit/form-problem.tsx';
import { formatMoneyExactly } from '../../../kit/format-money.ts';
import { Input } from '../../../kit/input.tsx';
import { Money } from '../../../kit/money.tsx';
import { sumMoney } from '../../../kit/sum-money.ts';
import { amountProblem } from '../amount.ts';
import { newUuid } from '../new-uuid.ts';
import { useCreditAccount } from './queries.ts';

const ownFields = ['amount', 'memo'];
const longestMemo = 500;

type CreditDialogProps = Readonly<{ account: OperatorAccount; onClose: () => void }>;

export function CreditDialog({ account, onClose }: CreditDialogProps) {
  const [reference] = useState(newUuid);
  const [amount, setAmount] = useState('');
  const [memo, setMemo] = useState('');
  const [isTried, setTried] = useState(false);
  const crediting = useCreditAccount(account.id);
  const problem = amountProblem(amount);
  const credit = () => {
    setTried(true);
    if (problem !== null) return;
    crediting.mutate({ amount: amount.trim(), memo: memo.trim() === '' ? null : memo.trim(), reference });
  };
  if (crediting.data !== undefined)
    return <Credited account={crediting.data} amount={amount.trim()} onClose={onClose} />;
  return (
    <FormDialog
      title={`Add credit to ${account.name}`}
      description="The account can spend it at once. A credit cannot be taken back here."
      submitLabel="Add the credit"
      isBusy={crediting.isPending}
      error={crediting.error}
      ownFields={ownFields}
      onClose={onClose}
      onSubmit={credit}
    >
      <Field
        label="Amount in USD"
        error={(isTried ? problem : null) ?? fieldProblem(crediting.error, 'amount')}
      >
        <Input
          inputMode="decimal"
          autoFocus
          autoComplete="off"
          placeholder="0.00"
          value={amount}
          onChange={(event) => setAmount(event.target.value)}
        />
      </Field>
      <Field
        label="Memo"
        isOptional
        hint="Stands on the customer’s statement, such as an invoice number."
        error={fieldProblem(crediting.error, 'memo')}
      >
        <Input
          autoComplete="off"
          maxLength={longestMemo}
          value={memo}
          onChange={(event) => setMemo(event.target.value)}
        />
      </Field>
      <Facts>
        <Fact name="Balance now">
          <Money amount={account.balance} isExact />
        </Fact>
        <Fact name="Balance after">
          {problem === null ? (
            <Money amount={sumMoney([account.balance, amount.trim()])} isExact className="font-semibold" />
          ) : (
            <span className="text-ink-faint">–</span>
          )}
        </Fact>
      </Facts>
      {crediting.isError && (
        <p className="text-xs text-ink-faint">
          You can try again here: the same amount is credited once, even if the first try has arrived.
        </p>
      )}
    </FormDialog>
  );
}

type CreditedProps = Readonly<{ account: OperatorAccount; amount: string; onClose: () => void }>;

function Credited({ account, amount, onClose }: CreditedProps) {
  return (
    <Dialog
      title={`Add credit to ${account.name}`}
      onClose={onClose}
      footer={
        <Button variant="primary" autoFocus onClick={onClose}>
          Done
        </Button>
      }
    >
      <Callout tone="good" isUrgent title={`${formatMoneyExactly(amount)} is credited to ${account.name}.`}>
        The new balance is <Money amount={account.balance} isExact className="font-semibold text-ink" />.
      </Callout>
    </Dialog>
  );
}
