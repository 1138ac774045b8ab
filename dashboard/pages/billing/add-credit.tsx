/** How to get credit here: by card, with a code, or from the operator. */
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { PaymentOptions } from '../../../src/console/contract.ts';
import { useAccount, useMe } from '../../api/session.ts';
import { formatMoneyExactly } from '../../kit/amounts.ts';
import { Badge } from '../../kit/badge.tsx';
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Checkbox } from '../../kit/choice.tsx';
import { textLinkClass } from '../../kit/class-names.ts';
import { Field, Input } from '../../kit/field.tsx';
import { Form } from '../../kit/form.tsx';
import { FormProblem, fieldProblem } from '../../kit/states.tsx';
import { showToast } from '../../kit/toast.tsx';
import { accountLink } from '../../links.ts';
import { useCheckout, useRedeem } from './payment-queries.ts';

export function AddCredit({ options }: Readonly<{ options: PaymentOptions }>) {
  const { role } = useAccount();
  return (
    <Card
      title="Add credit"
      actions={options.is_test && <Badge tone="warn">Test mode: no real money moves</Badge>}
    >
      {role === 'owner' ? (
        <div className="space-y-5">
          {options.is_online && <TopUpForm options={options} />}
          <CodeForm />
          <AskOperator options={options} />
        </div>
      ) : (
        <div className="space-y-2 text-ink-soft">
          <p>Only owners of this account can add credit.</p>
          <AskOperator options={options} />
        </div>
      )}
    </Card>
  );
}

const presets = ['10', '25', '50', '100'];

function TopUpForm({ options }: Readonly<{ options: PaymentOptions }>) {
  const [amount, setAmount] = useState('25');
  const [savesCard, setSavesCard] = useState(false);
  const checkout = useCheckout();
  const pay = () => checkout.mutate({ amount: amount.trim(), saves_card: savesCard });
  return (
    <Form onSubmit={pay} className="space-y-3">
      <Field
        label="Amount in USD"
        hint={`From ${formatMoneyExactly(options.least)} to ${formatMoneyExactly(options.most)}. Tax, if any, is added on the next page.`}
        error={fieldProblem(checkout.error, 'amount')}
        isRequired
      >
        <Input
          inputMode="decimal"
          name="amount"
          value={amount}
          onChange={(event) => setAmount(event.target.value)}
        />
      </Field>
      <div className="flex flex-wrap gap-2">
        {presets.map((preset) => (
          <Button key={preset} size="small" onClick={() => setAmount(preset)}>
            ${preset}
          </Button>
        ))}
      </div>
      <Checkbox
        label="Save the card for automatic top-ups"
        hint="It is kept by Stripe. Nothing is charged automatically before you turn that on."
        isChecked={savesCard}
        onChange={setSavesCard}
      />
      <FormProblem error={checkout.error} fields={['amount']} />
      <Button type="submit" variant="primary" isBusy={checkout.isPending || checkout.isSuccess}>
        Pay with Stripe
      </Button>
    </Form>
  );
}

function CodeForm() {
  const [code, setCode] = useState('');
  const redeeming = useRedeem();
  const redeem = () =>
    redeeming.mutate(
      { code: code.trim() },
      {
        onSuccess: ({ amount }) => {
          setCode('');
          showToast('good', `${formatMoneyExactly(amount)} was added.`);
        },
      },
    );
  return (
    <Form onSubmit={redeem} className="space-y-3">
      <div className="flex items-end gap-2">
        <Field label="Code" error={fieldProblem(redeeming.error, 'code')} className="flex-1">
          <Input
            name="code"
            autoComplete="off"
            spellCheck={false}
            placeholder="tg_code_…"
            value={code}
            onChange={(event) => setCode(event.target.value)}
          />
        </Field>
        <Button
          type="submit"
          disabled={code.trim() === ''}
          isBusy={redeeming.isPending}
          className={fieldProblem(redeeming.error, 'code') === null ? undefined : 'mb-5.5'}
        >
          Redeem
        </Button>
      </div>
      <FormProblem error={redeeming.error} fields={['code']} />
    </Form>
  );
}

function AskOperator({ options: { contact, is_online: isOnline } }: Readonly<{ options: PaymentOptions }>) {
  const { user } = useMe();
  const { id } = useAccount();
  if (user.is_operator)
    return (
      <p className="text-[0.8125rem] text-ink-soft">
        {!isOnline && 'Card payments are not available. '}As an operator, you can add credit on the{' '}
        <Link {...accountLink(id)} className={textLinkClass}>
          operator’s page of this account
        </Link>
        .
      </p>
    );
  if (isOnline && contact === null) return null;
  return (
    <p className="text-[0.8125rem] text-ink-soft">
      {!isOnline && 'Card payments are not available. '}
      {contact === null ? (
        'Ask the operator of this gateway for credit.'
      ) : (
        <>
          <a href={contact} rel="noreferrer" className={textLinkClass}>
            Ask the operator
          </a>{' '}
          {isOnline ? 'about anything else.' : 'for credit.'}
        </>
      )}
    </p>
  );
}
