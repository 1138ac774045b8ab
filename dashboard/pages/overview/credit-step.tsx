/** What a new account has to spend, and how it gets more. */
import { Link } from '@tanstack/react-router';
import { CreditCard } from 'lucide-react';
import type { Overview, PaymentOptions } from '../../../src/console/contract.ts';
import { useAccount, useMe } from '../../api/session.ts';
import { formatBalance, formatMoneyExactly, signOfMoney, subtractMoney } from '../../kit/amounts.ts';
import { LinkButton } from '../../kit/button.tsx';
import { textLinkClass } from '../../kit/class-names.ts';
import { Time } from '../../kit/figures.tsx';
import { usePaymentOptions } from '../billing/payment-queries.ts';

export function CreditStep({ overview }: Readonly<{ overview: Overview }>) {
  const { role } = useAccount();
  const { user } = useMe();
  const { data: options } = usePaymentOptions();
  const available = subtractMoney(overview.balance, overview.held);
  const hasCredit = signOfMoney(available) > 0;
  return (
    <div className="space-y-3 text-ink-soft">
      <p>
        <WelcomeWords welcome={overview.welcome} mustVerify={user.must_verify_email} />
        {hasCredit
          ? `${formatBalance(available)} is available.`
          : 'Requests are paid from the balance of the account, which is empty.'}
      </p>
      {role !== 'owner' && !hasCredit && <p>Only owners of this account can add credit.</p>}
      {role === 'owner' && !user.must_verify_email && options !== undefined && (
        <WaysToPay options={options} hasCredit={hasCredit} />
      )}
    </div>
  );
}

type WelcomeWordsProps = Readonly<{ welcome: Overview['welcome']; mustVerify: boolean }>;

/** Promises nothing: how much is given in a day is limited. */
function WelcomeWords({ welcome, mustVerify }: WelcomeWordsProps) {
  switch (welcome?.state) {
    case 'given':
      return (
        <>
          {formatMoneyExactly(welcome.amount)} of welcome credit was added
          {welcome.expires_at === null ? (
            '. '
          ) : (
            <>
              . It can be used until <Time at={welcome.expires_at} style="date" />.{' '}
            </>
          )}
        </>
      );
    case 'refused':
      return 'There is no welcome credit for this account: only so much is given in a day, and to one network. ';
    case 'pending':
      return mustVerify
        ? `When your address is verified, ${formatMoneyExactly(welcome.amount)} of welcome credit is added, if some is left by then: how much is given in a day, and to one network, is limited. `
        : null;
    default:
      return null;
  }
}

type WaysToPayProps = Readonly<{ options: PaymentOptions; hasCredit: boolean }>;

function WaysToPay({ options: { is_online: isOnline, contact }, hasCredit }: WaysToPayProps) {
  if (hasCredit)
    return (
      <p>
        <Link to="/billing" className={textLinkClass}>
          {isOnline ? 'Add more credit' : 'How to get more credit'}
        </Link>
      </p>
    );
  return (
    <>
      <LinkButton to="/billing" icon={CreditCard} variant="primary">
        {isOnline ? 'Add credit' : 'Redeem a code'}
      </LinkButton>
      <p>
        {isOnline
          ? 'Pay by card, or redeem a code.'
          : 'Codes, and credit without one, come from the operator of this gateway.'}
        {contact !== null && (
          <>
            {' '}
            <a href={contact} rel="noreferrer" className={textLinkClass}>
              Ask the operator
            </a>
          </>
        )}
      </p>
    </>
  );
}
