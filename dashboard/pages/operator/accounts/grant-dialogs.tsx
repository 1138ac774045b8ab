import { useState } from 'react';
import type { Allowance, Grant } from '../../../../src/console/grant-contract.ts';
import { formatMoneyExactly, signOfMoney } from '../../../kit/amounts.ts';
import { Fact, Facts } from '../../../kit/card.tsx';
import { ConfirmDialog, FormDialog } from '../../../kit/dialog.tsx';
import { Field, Input, Select } from '../../../kit/field.tsx';
import { Money, Time } from '../../../kit/figures.tsx';
import { fieldProblem } from '../../../kit/states.tsx';
import { showToast } from '../../../kit/toast.tsx';
import { defaultPriority, nameOfGrant, periods } from '../../grants/grant-words.ts';
import { AmountField, amountProblem } from './amount-field.tsx';
import { useCreateAllowance, useEndAllowance, useVoidGrant, useVoidPreview } from './grant-queries.ts';
import { PriorityField, priorityProblem } from './priority-field.tsx';

const maxWords = 500;

type VoidGrantDialogProps = Readonly<{ accountId: string; grant: Grant; onClose: () => void }>;

export function VoidGrantDialog({ accountId, grant, onClose }: VoidGrantDialogProps) {
  const [reason, setReason] = useState('');
  const [isTried, setTried] = useState(false);
  const preview = useVoidPreview(accountId, grant.id);
  const voiding = useVoidGrant(accountId, grant.id);
  const problem = reason.trim() === '' ? 'Enter a reason.' : null;
  const submit = () => {
    setTried(true);
    if (problem !== null) return;
    voiding.mutate(
      { reason: reason.trim() },
      {
        onSuccess: ({ taken }) => {
          showToast('good', `The grant was voided. ${formatMoneyExactly(taken)} was taken.`);
          onClose();
        },
      },
    );
  };
  return (
    <FormDialog
      title={`Void “${nameOfGrant(grant)}”?`}
      description="What is left of it leaves the balance, by an entry of its own. This cannot be undone."
      submitLabel="Void grant"
      isDangerous
      isReady={preview.data !== undefined}
      isBusy={voiding.isPending}
      error={voiding.error ?? preview.error}
      ownFields={['reason']}
      onClose={onClose}
      onSubmit={submit}
    >
      <Field
        label="Reason"
        hint="Shown on the customer’s statement."
        error={(isTried ? problem : null) ?? fieldProblem(voiding.error, 'reason')}
      >
        <Input
          autoComplete="off"
          maxLength={maxWords}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
      </Field>
      {preview.data !== undefined && <VoidFacts {...preview.data} />}
    </FormDialog>
  );
}

function VoidFacts({ taken, kept }: Readonly<{ taken: string; kept: string }>) {
  return (
    <>
      <Facts>
        <Fact name="Taken now">
          <Money amount={taken} isExact className="font-semibold" />
        </Fact>
        {signOfMoney(kept) > 0 && (
          <Fact name="Held by requests in progress">
            <Money amount={kept} isExact />
          </Fact>
        )}
      </Facts>
      {signOfMoney(kept) > 0 && (
        <p className="text-xs text-ink-faint">
          Requests in progress may still spend what they hold. What they do not spend leaves when they end.
        </p>
      )}
    </>
  );
}

const periodOptions = (Object.keys(periods) as Allowance['every'][]).map((value) => ({
  value,
  label: periods[value].replace('each', 'Each'),
}));

export function CreateAllowanceDialog({
  accountId,
  onClose,
}: Readonly<{ accountId: string; onClose: () => void }>) {
  const [amount, setAmount] = useState('');
  const [every, setEvery] = useState<Allowance['every']>('month');
  const [priority, setPriority] = useState(`${defaultPriority}`);
  const [note, setNote] = useState('');
  const [isTried, setTried] = useState(false);
  const creating = useCreateAllowance(accountId);
  const problems = { amount: amountProblem(amount), priority: priorityProblem(priority) };
  const shown = (field: keyof typeof problems) =>
    (isTried ? problems[field] : null) ?? fieldProblem(creating.error, field);
  const create = () => {
    setTried(true);
    if (problems.amount !== null || problems.priority !== null) return;
    creating.mutate(
      {
        amount: amount.trim(),
        every,
        priority: Number(priority),
        note: note.trim() === '' ? null : note.trim(),
      },
      {
        onSuccess: (created) => {
          showToast(
            'good',
            `${formatMoneyExactly(created.amount)} was given, and is given ${periods[every]}.`,
          );
          onClose();
        },
      },
    );
  };
  return (
    <FormDialog
      title="New allowance"
      description="The first one is given at once, in full. Each lasts until the next day, week or month begins, in UTC."
      submitLabel="Create allowance"
      isBusy={creating.isPending}
      error={creating.error}
      ownFields={['amount', 'priority', 'note']}
      onClose={onClose}
      onSubmit={create}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <AmountField label="Amount in USD" value={amount} onChange={setAmount} error={shown('amount')} />
        <Field label="Given">
          <Select value={every} options={periodOptions} onChange={setEvery} />
        </Field>
      </div>
      <PriorityField value={priority} onChange={setPriority} error={shown('priority')} />
      <Field
        label="Note"
        isOptional
        hint="Shown on the customer’s statement, such as the name of a plan."
        error={fieldProblem(creating.error, 'note')}
      >
        <Input
          autoComplete="off"
          maxLength={maxWords}
          value={note}
          onChange={(event) => setNote(event.target.value)}
        />
      </Field>
    </FormDialog>
  );
}

type EndAllowanceDialogProps = Readonly<{ accountId: string; allowance: Allowance; onClose: () => void }>;

export function EndAllowanceDialog({ accountId, allowance, onClose }: EndAllowanceDialogProps) {
  const { mutateAsync } = useEndAllowance(accountId, allowance.id);
  const confirm = async () => {
    await mutateAsync();
    showToast('good', 'The allowance has ended.');
  };
  return (
    <ConfirmDialog
      title={`End ${formatMoneyExactly(allowance.amount)} ${periods[allowance.every]}?`}
      confirmLabel="End allowance"
      isDangerous
      onConfirm={confirm}
      onClose={onClose}
    >
      What was given can be spent until <Time at={allowance.next_at} />. Nothing is given after that.
    </ConfirmDialog>
  );
}
