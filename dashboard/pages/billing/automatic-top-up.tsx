/** The saved card, and when it is charged without anyone asking. */
import { useState } from 'react';
import type { AutomaticTopUp, PaymentOptions, SavedCard } from '../../../src/console/contract.ts';
import { problemOf } from '../../api/client.ts';
import { formatMoneyExactly } from '../../kit/amounts.ts';
import { Badge } from '../../kit/badge.tsx';
import { Button } from '../../kit/button.tsx';
import { Callout } from '../../kit/callout.tsx';
import { Card } from '../../kit/card.tsx';
import { Segmented, Switch } from '../../kit/choice.tsx';
import { ConfirmDialog, FormDialog } from '../../kit/dialog.tsx';
import { Field, Input } from '../../kit/field.tsx';
import { useKeptFocus } from '../../kit/keep-focus.ts';
import { fieldProblem } from '../../kit/states.tsx';
import { showToast } from '../../kit/toast.tsx';
import { useAutomaticTopUp, usePortal, useRemoveCard, useSaveCard } from './payment-queries.ts';

type OpenDialog = 'settings' | 'remove' | null;

/** Owners only. */
export function AutomaticTopUpCard({ options }: Readonly<{ options: PaymentOptions }>) {
  const [dialog, setDialog] = useState<OpenDialog>(null);
  const portal = usePortal();
  const saving = useSaveCard();
  const save = () =>
    saving.mutate(undefined, { onError: (error) => showToast('bad', problemOf(error).message) });
  const close = () => setDialog(null);
  const { card, automatic } = options;
  const isOn = card !== null && automatic?.is_on === true;
  return (
    <Card
      title="Automatic top-up"
      actions={<Badge tone={isOn ? 'good' : 'plain'}>{isOn ? 'On' : 'Off'}</Badge>}
    >
      {card === null ? (
        <div className="space-y-4">
          <p className="text-ink-soft">
            With a saved card, credit can be added automatically before it runs out. Save one now, or with
            your next payment.
          </p>
          <Button data-part="save-card" isBusy={saving.isPending || saving.isSuccess} onClick={save}>
            Save a card
          </Button>
        </div>
      ) : (
        <div className="space-y-4">
          {automatic?.paused_reason && (
            <Callout tone="warn" title="The card is not charged at the moment">
              {reasonWords(automatic.paused_reason)}
              {automatic.paused_reason !== 'too_many_failures' &&
                ' Save another card, or save the settings again to try once more.'}
            </Callout>
          )}
          <p>{describeCard(card)}</p>
          {automatic !== null && isOn && <p className="text-ink-soft">{describe(automatic)}</p>}
          <div className="flex flex-wrap gap-2">
            <Button variant={isOn ? 'secondary' : 'primary'} onClick={() => setDialog('settings')}>
              {isOn ? 'Change settings' : 'Set up'}
            </Button>
            <Button isBusy={portal.isPending || portal.isSuccess} onClick={() => portal.mutate(undefined)}>
              Invoices and card
            </Button>
            <Button isBusy={saving.isPending || saving.isSuccess} onClick={save}>
              Save another card
            </Button>
            <Button variant="quiet" onClick={() => setDialog('remove')}>
              Remove card
            </Button>
          </div>
        </div>
      )}
      {dialog === 'settings' && <SettingsDialog automatic={automatic} onClose={close} />}
      {dialog === 'remove' && <RemoveDialog onClose={close} />}
    </Card>
  );
}

function describeCard({ brand, last4, expires }: SavedCard): string {
  const name = brand === null ? 'Card' : `${brand.slice(0, 1).toUpperCase()}${brand.slice(1)}`;
  const until = expires === null ? '' : `, expires ${expires.slice(5)}/${expires.slice(0, 4)}`;
  return `${name} ending in ${last4 ?? '????'}${until}`;
}

function describe({
  threshold,
  amount,
  target,
  monthly_cap: cap,
  month_added: added,
}: AutomaticTopUp): string {
  const what =
    amount === null
      ? `credit is added up to ${formatMoneyExactly(target ?? '0')}`
      : `${formatMoneyExactly(amount)} is added`;
  return `When less than ${formatMoneyExactly(threshold)} is available, ${what}: at most ${formatMoneyExactly(cap)} a month, ${formatMoneyExactly(added)} so far.`;
}

/** In the payment provider's words where there are none of ours. */
function reasonWords(reason: string): string {
  switch (reason) {
    case 'authentication_required':
      return 'The bank wants you to confirm payments with this card.';
    case 'insufficient_funds':
      return 'The card did not have enough funds.';
    case 'expired_card':
      return 'The card has expired.';
    case 'refunded':
      return 'A payment was refunded.';
    case 'disputed':
      return 'A payment is disputed.';
    case 'contradicted':
      return 'The last payment did not fit its order. The operator looks into it.';
    case 'customer_tax_location_invalid':
      return 'The address is needed for tax. It can be changed under “Invoices and card”.';
    case 'void':
      return 'The last invoice was cancelled.';
    case 'too_many_failures':
      return 'Three attempts within a day have failed. The card is not tried again before tomorrow.';
    default:
      return `The last attempt has failed (${reason.replaceAll('_', ' ')}).`;
  }
}

type Draft = Readonly<{
  isOn: boolean;
  threshold: string;
  way: 'amount' | 'target';
  amount: string;
  target: string;
  cap: string;
}>;

const plain = (amount: string) => formatMoneyExactly(amount).replaceAll(/[^\d.]/g, '');

function draftFrom(automatic: AutomaticTopUp | null): Draft {
  if (automatic === null)
    return { isOn: true, threshold: '5', way: 'amount', amount: '25', target: '50', cap: '100' };
  return {
    isOn: true,
    threshold: plain(automatic.threshold),
    way: automatic.amount === null ? 'target' : 'amount',
    amount: automatic.amount === null ? '25' : plain(automatic.amount),
    target: automatic.target === null ? '50' : plain(automatic.target),
    cap: plain(automatic.monthly_cap),
  };
}

const ownFields = ['threshold', 'amount', 'target', 'monthly_cap'];

function SettingsDialog({
  automatic,
  onClose,
}: Readonly<{ automatic: AutomaticTopUp | null; onClose: () => void }>) {
  const [draft, setDraft] = useState(() => draftFrom(automatic));
  const saving = useAutomaticTopUp();
  const change = (changed: Partial<Draft>) => setDraft((before) => ({ ...before, ...changed }));
  const save = () =>
    saving.mutate(
      {
        is_on: draft.isOn,
        threshold: draft.threshold.trim(),
        amount: draft.way === 'amount' ? draft.amount.trim() : null,
        target: draft.way === 'target' ? draft.target.trim() : null,
        monthly_cap: draft.cap.trim(),
      },
      {
        onSuccess: () => {
          showToast('good', 'The settings were saved.');
          onClose();
        },
      },
    );
  const error = (name: string) => fieldProblem(saving.error, name);
  return (
    <FormDialog
      title="Automatic top-up"
      description="All amounts are in USD, before tax."
      submitLabel="Save"
      isBusy={saving.isPending}
      error={saving.error}
      ownFields={ownFields}
      onSubmit={save}
      onClose={onClose}
    >
      <DraftFields draft={draft} error={error} onChange={change} />
    </FormDialog>
  );
}

type DraftFieldsProps = Readonly<{
  draft: Draft;
  error: (name: string) => string | null;
  onChange: (changed: Partial<Draft>) => void;
}>;

function DraftFields({ draft, error, onChange }: DraftFieldsProps) {
  return (
    <>
      <Switch
        label="Charge the saved card automatically"
        isChecked={draft.isOn}
        onChange={(isOn) => onChange({ isOn })}
      />
      <AmountField
        label="When less than this is available"
        value={draft.threshold}
        error={error('threshold')}
        onChange={(threshold) => onChange({ threshold })}
      />
      <Segmented
        label="How much is added"
        value={draft.way}
        options={[
          { value: 'amount', label: 'Add a fixed amount' },
          { value: 'target', label: 'Fill up to' },
        ]}
        onChange={(way) => onChange({ way })}
      />
      {draft.way === 'amount' ? (
        <AmountField
          label="Amount"
          value={draft.amount}
          error={error('amount')}
          onChange={(amount) => onChange({ amount })}
        />
      ) : (
        <AmountField
          label="Target"
          value={draft.target}
          error={error('target')}
          onChange={(target) => onChange({ target })}
        />
      )}
      <AmountField
        label="At most in a month"
        value={draft.cap}
        error={error('monthly_cap')}
        onChange={(cap) => onChange({ cap })}
      />
    </>
  );
}

type AmountFieldProps = Readonly<{
  label: string;
  value: string;
  error: string | null;
  onChange: (value: string) => void;
}>;

function AmountField({ label, value, error, onChange }: AmountFieldProps) {
  return (
    <Field label={label} error={error} isRequired>
      <Input inputMode="decimal" value={value} onChange={(event) => onChange(event.target.value)} />
    </Field>
  );
}

function RemoveDialog({ onClose }: Readonly<{ onClose: () => void }>) {
  const { mutateAsync } = useRemoveCard();
  // With the card, the button that opened this has gone.
  useKeptFocus('[data-part="save-card"]');
  const confirm = async () => {
    await mutateAsync(undefined);
    showToast('good', 'The card was removed.');
  };
  return (
    <ConfirmDialog
      title="Remove the saved card?"
      confirmLabel="Remove card"
      isDangerous
      onConfirm={confirm}
      onClose={onClose}
    >
      Automatic top-ups end immediately. A payment that is already in progress may still be made.
    </ConfirmDialog>
  );
}
