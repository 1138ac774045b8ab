/** Corrects a balance, undoes an entry or refunds a request: first what it would do, then the confirmation. */
import { useState } from 'react';
import type { BookedMovement } from '../../../../src/console/operator-contract.ts';
import { formatMoneyExactly, signOfMoney, subtractMoney } from '../../../kit/amounts.ts';
import { Button } from '../../../kit/button.tsx';
import { Fact, Facts } from '../../../kit/card.tsx';
import { Segmented } from '../../../kit/choice.tsx';
import { Dialog, FormDialog } from '../../../kit/dialog.tsx';
import { Field, FieldGroup, Input } from '../../../kit/field.tsx';
import { Money } from '../../../kit/figures.tsx';
import { FormProblem, fieldProblem } from '../../../kit/states.tsx';
import { showToast } from '../../../kit/toast.tsx';
import { newUuid } from '../accounts/account-dialogs.tsx';
import { amountProblem } from '../accounts/amount-field.tsx';
import { type Subject, useMovement } from './queries.ts';

type MovementDialogProps = Readonly<{ subject: Subject; title: string; onClose: () => void }>;

type Draft = Readonly<{ direction: 'add' | 'take'; amount: string; reason: string }>;

const ownFields = ['amount', 'reason'];
const maxReasonLength = 500;

/** However often one opened dialog is confirmed, the movement is booked once. */
export function MovementDialog({ subject, title, onClose }: MovementDialogProps) {
  const [reference] = useState(newUuid);
  const [draft, setDraft] = useState<Draft>(() => draftFor(subject));
  const [isTried, setTried] = useState(false);
  const preview = useMovement(subject);
  const booking = useMovement(subject);
  const problems = problemsOf(subject, draft);
  const order = { amount: amountOf(subject, draft), reason: draft.reason.trim(), reference };
  const review = () => {
    setTried(true);
    if (problems.amount === null && problems.reason === null) preview.mutate({ ...order, is_preview: true });
  };
  const confirm = () =>
    booking.mutate(
      { ...order, is_preview: false },
      {
        onSuccess: (booked) => {
          showToast('good', describeBooked(booked));
          onClose();
        },
      },
    );
  const back = () => {
    preview.reset();
    booking.reset();
  };
  if (preview.data?.is_repeated === true)
    return (
      <Dialog
        title={title}
        description={describeBooked(preview.data)}
        footer={<Button onClick={onClose}>Close</Button>}
        onClose={onClose}
      />
    );
  if (preview.data !== undefined)
    return (
      <Review
        title={title}
        reason={order.reason}
        preview={preview.data}
        isBusy={booking.isPending}
        error={booking.error}
        onBack={back}
        onConfirm={confirm}
        onClose={onClose}
      />
    );
  return (
    <FormDialog
      title={title}
      description={descriptions[subject.kind]}
      submitLabel="Continue"
      isBusy={preview.isPending}
      error={preview.error}
      ownFields={ownFields}
      onClose={onClose}
      onSubmit={review}
    >
      <DraftFields
        subject={subject}
        draft={draft}
        onChange={(changed) => setDraft((before) => ({ ...before, ...changed }))}
        amountError={(isTried ? problems.amount : null) ?? fieldProblem(preview.error, 'amount')}
        reasonError={(isTried ? problems.reason : null) ?? fieldProblem(preview.error, 'reason')}
      />
    </FormDialog>
  );
}

/** It had been booked before if only its confirmation was lost. */
export function describeBooked({ amount, balance, is_repeated: isRepeated }: BookedMovement): string {
  const what = isRepeated
    ? `${formatMoneyExactly(amount)} was booked before. Nothing was booked again.`
    : `Booked: ${formatMoneyExactly(amount)}.`;
  return `${what} The balance is ${formatMoneyExactly(balance)}.`;
}

const descriptions = {
  correction: 'Adds to the balance, or takes from it what is not held. Nothing is booked yet.',
  undo: 'Takes back what is left of this entry. Nothing is booked yet.',
  refund: 'Gives back what was charged, or a part of it. The usage stays. Nothing is booked yet.',
} as const;

function draftFor(subject: Subject): Draft {
  const reason = subject.kind === 'undo' ? `Undoes entry ${subject.entryNumber}` : '';
  return { direction: 'take', amount: '', reason };
}

function problemsOf(subject: Subject, { amount, reason }: Draft) {
  const isLeftOut = subject.kind === 'undo' || (subject.kind === 'refund' && amount.trim() === '');
  return {
    amount: isLeftOut ? null : amountProblem(amount),
    reason: reason.trim() === '' ? 'Enter a reason.' : null,
  };
}

function amountOf({ kind }: Subject, { direction, amount }: Draft): string | null {
  if (kind === 'undo' || (kind === 'refund' && amount.trim() === '')) return null;
  return kind === 'correction' && direction === 'take' ? `-${amount.trim()}` : amount.trim();
}

type DraftFieldsProps = Readonly<{
  subject: Subject;
  draft: Draft;
  onChange: (changed: Partial<Draft>) => void;
  amountError: string | null;
  reasonError: string | null;
}>;

function DraftFields({ subject: { kind }, draft, onChange, amountError, reasonError }: DraftFieldsProps) {
  return (
    <>
      {kind === 'correction' && (
        <FieldGroup label="Direction" error={null}>
          <Segmented
            label="Direction"
            value={draft.direction}
            options={[
              { value: 'take', label: 'Take from the balance' },
              { value: 'add', label: 'Add to the balance' },
            ]}
            onChange={(direction) => onChange({ direction })}
          />
        </FieldGroup>
      )}
      {kind !== 'undo' && (
        <Field
          label="Amount in USD"
          isOptional={kind === 'refund'}
          hint={kind === 'refund' ? 'Empty for all that is left of the charge.' : undefined}
          error={amountError}
        >
          <Input
            inputMode="decimal"
            autoComplete="off"
            placeholder={kind === 'refund' ? 'All that is left' : '0.00'}
            value={draft.amount}
            onChange={(event) => onChange({ amount: event.target.value })}
          />
        </Field>
      )}
      <Field label="Reason" hint="Shown on the customer’s statement." error={reasonError}>
        <Input
          autoComplete="off"
          maxLength={maxReasonLength}
          value={draft.reason}
          onChange={(event) => onChange({ reason: event.target.value })}
        />
      </Field>
    </>
  );
}

type ReviewProps = Readonly<{
  title: string;
  reason: string;
  preview: BookedMovement;
  isBusy: boolean;
  error: unknown;
  onBack: () => void;
  onConfirm: () => void;
  onClose: () => void;
}>;

/** The balance keeps moving with requests: it is what the account has at this moment. */
function Review({ title, reason, preview, isBusy, error, onBack, onConfirm, onClose }: ReviewProps) {
  const { amount, balance, held } = preview;
  return (
    <Dialog
      title={title}
      onClose={onClose}
      onSubmit={onConfirm}
      footer={
        <>
          <Button onClick={onBack}>Back</Button>
          <Button type="submit" variant={signOfMoney(amount) < 0 ? 'danger' : 'primary'} isBusy={isBusy}>
            {signOfMoney(amount) < 0 ? 'Take' : 'Give'} {formatMoneyExactly(amount).replace('−', '')}
          </Button>
        </>
      }
    >
      <Facts>
        <Fact name="Reason">{reason}</Fact>
        <Fact name="Balance now">
          <Money amount={subtractMoney(balance, amount)} isExact />
        </Fact>
        <Fact name="Change">
          <Money amount={amount} isExact />
        </Fact>
        <Fact name="Balance after">
          <Money amount={balance} isExact className="font-semibold" />
        </Fact>
        {signOfMoney(held) > 0 && (
          <Fact name="Of which held">
            <Money amount={held} isExact />
          </Fact>
        )}
      </Facts>
      <FormProblem error={error} />
    </Dialog>
  );
}
