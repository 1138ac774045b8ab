import { useState } from 'react';
import type { OperatorAccount } from '../../../../src/console/operator-contract.ts';
import { formatMoneyExactly, sumMoney } from '../../../kit/amounts.ts';
import { Button } from '../../../kit/button.tsx';
import { Callout } from '../../../kit/callout.tsx';
import { Fact, Facts } from '../../../kit/card.tsx';
import { ConfirmDialog, Dialog, FormDialog } from '../../../kit/dialog.tsx';
import { Field, Input } from '../../../kit/field.tsx';
import { Dash, Money } from '../../../kit/figures.tsx';
import { fieldProblem } from '../../../kit/states.tsx';
import { showToast } from '../../../kit/toast.tsx';
import { AmountField, amountProblem } from './amount-field.tsx';
import {
  emptyGrantForm,
  GrantFields,
  type GrantFormProblems,
  grantFormFields,
  grantProblems,
  termsOf,
} from './grant-fields.tsx';
import { useCreateAccount, useCreditAccount, useSuspension } from './queries.ts';

const accountFields = ['name', 'credit'];
const maxNameLength = 200;

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
  const nameProblem = name.trim() === '' ? 'Enter a name.' : null;
  const creditProblem = credit.trim() === '' ? null : amountProblem(credit);
  const create = () => {
    setTried(true);
    if (nameProblem !== null || creditProblem !== null) return;
    creating.mutate(
      { name: name.trim(), reference, ...(credit.trim() === '' ? {} : { credit: credit.trim() }) },
      {
        onSuccess: (account) => {
          showToast('good', `The account “${account.name}” was created.`);
          onCreated(account);
        },
      },
    );
  };
  return (
    <FormDialog
      title="Create account"
      description="An account holds the balance, keys and requests of a customer."
      submitLabel="Create account"
      isBusy={creating.isPending}
      error={creating.error}
      ownFields={accountFields}
      onClose={onClose}
      onSubmit={create}
    >
      <Field
        label="Name"
        hint="Visible to its members."
        error={(isTried ? nameProblem : null) ?? fieldProblem(creating.error, 'name')}
      >
        <Input
          value={name}
          autoComplete="off"
          maxLength={maxNameLength}
          onChange={(event) => setName(event.target.value)}
        />
      </Field>
      <AmountField
        label="Initial credit in USD"
        isOptional
        hint="Without credit, requests are refused. You can add credit later."
        value={credit}
        onChange={setCredit}
        error={(isTried ? creditProblem : null) ?? fieldProblem(creating.error, 'credit')}
      />
    </FormDialog>
  );
}

const creditFields = ['amount', 'memo', ...grantFormFields];
const maxMemoLength = 500;

type CreditDialogProps = Readonly<{ account: OperatorAccount; onClose: () => void }>;

/** Adds credit to an account. However often one opened dialog is submitted, the credit is added once. */
export function CreditDialog({ account, onClose }: CreditDialogProps) {
  const [reference] = useState(newUuid);
  const [amount, setAmount] = useState('');
  const [memo, setMemo] = useState('');
  const [grant, setGrant] = useState(emptyGrantForm);
  const [isTried, setTried] = useState(false);
  const crediting = useCreditAccount(account.id);
  const problem = amountProblem(amount);
  const ofGrant = grantProblems(grant, new Date());
  const credit = () => {
    setTried(true);
    if ([problem, ...Object.values(ofGrant)].some((one) => one !== null)) return;
    crediting.mutate({
      amount: amount.trim(),
      memo: memo.trim() === '' ? null : memo.trim(),
      reference,
      grant: termsOf(grant),
    });
  };
  if (crediting.data !== undefined)
    return <Credited account={crediting.data} amount={amount.trim()} onClose={onClose} />;
  return (
    <FormDialog
      title={`Add credit to ${account.name}`}
      description="It is available immediately. A mistaken credit can be undone on the page of the account."
      submitLabel="Add credit"
      isBusy={crediting.isPending}
      error={crediting.error}
      ownFields={creditFields}
      onClose={onClose}
      onSubmit={credit}
    >
      <AmountField
        label="Amount in USD"
        value={amount}
        onChange={setAmount}
        error={(isTried ? problem : null) ?? fieldProblem(crediting.error, 'amount')}
      />
      <Field
        label="Memo"
        isOptional
        hint="Shown on the customer’s statement, such as an invoice number."
        error={fieldProblem(crediting.error, 'memo')}
      >
        <Input
          autoComplete="off"
          maxLength={maxMemoLength}
          value={memo}
          onChange={(event) => setMemo(event.target.value)}
        />
      </Field>
      <GrantFields
        form={grant}
        onChange={setGrant}
        problems={withServerProblems(isTried ? ofGrant : noGrantProblems, crediting.error)}
      />
      <NewBalance before={account.balance} added={problem === null ? amount.trim() : null} />
      {crediting.isError && (
        <p className="text-xs text-ink-faint">
          You can safely try again: the credit is added only once, even if the first attempt succeeded.
        </p>
      )}
    </FormDialog>
  );
}

const noGrantProblems: GrantFormProblems = { 'grant.expires_at': null, 'grant.priority': null };

function withServerProblems(problems: GrantFormProblems, error: unknown): GrantFormProblems {
  return {
    'grant.expires_at': problems['grant.expires_at'] ?? fieldProblem(error, 'grant.expires_at'),
    'grant.priority': problems['grant.priority'] ?? fieldProblem(error, 'grant.priority'),
  };
}

/** `added` is null as long as it is not an amount. */
function NewBalance({ before, added }: Readonly<{ before: string; added: string | null }>) {
  return (
    <Facts>
      <Fact name="Current balance">
        <Money amount={before} isExact />
      </Fact>
      <Fact name="New balance">
        {added === null ? (
          <Dash />
        ) : (
          <Money amount={sumMoney([before, added])} isExact className="font-semibold" />
        )}
      </Fact>
    </Facts>
  );
}

type CreditedProps = Readonly<{ account: OperatorAccount; amount: string; onClose: () => void }>;

function Credited({ account, amount, onClose }: CreditedProps) {
  return (
    <Dialog
      title={`Add credit to ${account.name}`}
      onClose={onClose}
      footer={
        <Button variant="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <Callout tone="good" isUrgent title={`${formatMoneyExactly(amount)} was added to ${account.name}.`}>
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
    await mutateAsync();
    showToast('good', `The account “${account.name}” ${isSuspending ? 'was suspended' : 'was resumed'}.`);
  };
  return (
    <ConfirmDialog
      title={`${isSuspending ? 'Suspend' : 'Resume'} ${account.name}?`}
      confirmLabel={isSuspending ? 'Suspend account' : 'Resume account'}
      isDangerous={isSuspending}
      onConfirm={confirm}
      onClose={onClose}
    >
      {isSuspending ? (
        <>
          Within seconds, new requests with its keys are refused. Running requests end as usual and are
          charged. Members can still sign in and see that the account is suspended. The balance does not
          change, and you can resume the account at any time.
        </>
      ) : (
        'Its keys work again within seconds, with the same limits and balance as before.'
      )}
    </ConfirmDialog>
  );
}

/** A random UUID. The browser's own function needs HTTPS, which a gateway in a private network may not have. */
export function newUuid(): string {
  return uuidFrom(crypto.getRandomValues(new Uint8Array(16)));
}

/** Version 4: six bits are fixed, the others come from `random`. */
export function uuidFrom(random: Uint8Array): string {
  const hex = [...random.slice(0, 16)]
    .map((byte, at) => (at === 6 ? (byte & 0x0f) | 0x40 : at === 8 ? (byte & 0x3f) | 0x80 : byte))
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
