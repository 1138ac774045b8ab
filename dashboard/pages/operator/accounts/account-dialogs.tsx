import { useState } from 'react';
import type { OperatorAccount } from '../../../../src/console/operator-contract.ts';
import { formatMoneyExactly, sumMoney } from '../../../kit/amounts.ts';
import { Button } from '../../../kit/button.tsx';
import { Callout } from '../../../kit/callout.tsx';
import { Fact, Facts } from '../../../kit/card.tsx';
import { ConfirmDialog, Dialog, FormDialog } from '../../../kit/dialog.tsx';
import { Field, Input } from '../../../kit/field.tsx';
import { Money } from '../../../kit/figures.tsx';
import { fieldProblem } from '../../../kit/states.tsx';
import { showToast } from '../../../kit/toast.tsx';
import { useCreateAccount, useCreditAccount, useSuspension } from './queries.ts';

const accountFields = ['name', 'credit'];
const longestName = 200;

type CreateAccountDialogProps = Readonly<{
  onCreated: (account: OperatorAccount) => void;
  onClose: () => void;
}>;

export function CreateAccountDialog({ onCreated, onClose }: CreateAccountDialogProps) {
  const [name, setName] = useState('');
  const [credit, setCredit] = useState('');
  const [reference] = useState(newUuid);
  const [isTried, setTried] = useState(false);
  const creating = useCreateAccount();
  const nameProblem = name.trim() === '' ? 'Give the account a name.' : null;
  const creditProblem = credit.trim() === '' ? null : amountProblem(credit);
  const create = () => {
    setTried(true);
    if (nameProblem !== null || creditProblem !== null) return;
    creating.mutate(
      { name: name.trim(), reference, ...(credit.trim() === '' ? {} : { credit: credit.trim() }) },
      {
        onSuccess: (account) => {
          showToast('good', `The account “${account.name}” is created.`);
          onCreated(account);
        },
      },
    );
  };
  return (
    <FormDialog
      title="Create an account"
      description="An account holds the money, the keys and the requests of a customer."
      submitLabel="Create the account"
      isBusy={creating.isPending}
      error={creating.error}
      ownFields={accountFields}
      onClose={onClose}
      onSubmit={create}
    >
      <Field
        label="Name"
        hint="Its members see it too."
        error={(isTried ? nameProblem : null) ?? fieldProblem(creating.error, 'name')}
      >
        <Input
          value={name}
          autoFocus
          autoComplete="off"
          maxLength={longestName}
          onChange={(event) => setName(event.target.value)}
        />
      </Field>
      <Field
        label="First credit in USD"
        isOptional
        hint="Without credit its requests to models are refused. You can add it later."
        error={(isTried ? creditProblem : null) ?? fieldProblem(creating.error, 'credit')}
      >
        <Input
          inputMode="decimal"
          autoComplete="off"
          placeholder="0.00"
          value={credit}
          onChange={(event) => setCredit(event.target.value)}
        />
      </Field>
    </FormDialog>
  );
}

const creditFields = ['amount', 'memo'];
const longestMemo = 500;

type CreditDialogProps = Readonly<{ account: OperatorAccount; onClose: () => void }>;

/** Adds money to an account. Every send from one opened dialog is the same credit, however often it is pressed. */
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
      ownFields={creditFields}
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

/** Amounts as operators write them: plain decimals in USD. */
const amountPattern = /^\d{1,13}(?:\.\d{1,12})?$/;

/** What is wrong with an amount that must be more than nothing; null when nothing is. */
export function amountProblem(text: string): string | null {
  const amount = text.trim();
  if (!amountPattern.test(amount)) return 'Enter an amount such as 20 or 0.50.';
  return /[1-9]/.test(amount) ? null : 'Enter an amount above 0.';
}

/** A random UUID. The browser's own function for it is there only over HTTPS, which a gateway in a private net may lack. */
export function newUuid(): string {
  return uuidFrom(crypto.getRandomValues(new Uint8Array(16)));
}

/** Version 4: six bits say so, the others are those given. */
export function uuidFrom(random: Uint8Array): string {
  const hex = [...random.slice(0, 16)]
    .map((byte, at) => (at === 6 ? (byte & 0x0f) | 0x40 : at === 8 ? (byte & 0x3f) | 0x80 : byte))
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
