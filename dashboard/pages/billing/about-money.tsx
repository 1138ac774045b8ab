import { Link } from '@tanstack/react-router';
import { useMe } from '../../api/session.ts';
import { Callout } from '../../kit/callout.tsx';
import { textLinkClass } from '../../kit/text-link.ts';

/** The two things that people ask about. */
export function AboutMoney() {
  const { user } = useMe();
  return (
    <div className="grid gap-3 lg:grid-cols-2">
      <Callout title="How to add money">
        {user.is_operator ? (
          <>
            There is no card payment here. As an operator you add credit under{' '}
            <Link to="/operator/accounts" className={textLinkClass}>
              Operator → Accounts
            </Link>
            , and it appears below at once.
          </>
        ) : (
          'Ask the operator of this gateway for credit. There is no card payment here: the operator adds the credit, and it appears below at once.'
        )}
      </Callout>
      <Callout title="What “held” means">
        While a request runs, the most that it can cost is set aside. When it ends, only its real cost is
        taken, and the rest is free again.
      </Callout>
    </div>
  );
}
