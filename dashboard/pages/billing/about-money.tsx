import { Callout } from '../../kit/callout.tsx';

/** The two things that people ask about. */
export function AboutMoney() {
  return (
    <div className="grid gap-3 lg:grid-cols-2">
      <Callout title="How to add money">
        Ask the operator of this gateway for credit. There is no card payment here: the operator adds the
        credit, and it appears below at once.
      </Callout>
      <Callout title="What “held” means">
        While a request runs, the most that it can cost is set aside. When it ends, only its real cost is
        taken, and the rest is free again.
      </Callout>
    </div>
  );
}
