import type { GenerationDetail } from '../../../src/console/contract.ts';
import { Badge } from '../../kit/badge.tsx';
import { Card } from '../../kit/card.tsx';
import { EstimatedMark } from '../../kit/estimated-mark.tsx';
import { Fact, Facts } from '../../kit/facts.tsx';
import { describeMoney } from './describe-money.ts';

export function MoneyCard({ generation }: Readonly<{ generation: GenerationDetail }>) {
  const { cost, ledger } = generation;
  const { label, tone, text } = describeMoney(ledger);
  return (
    <Card
      title="Cost"
      actions={
        <>
          {ledger?.is_estimated === true && <EstimatedMark />}
          <Badge tone={tone}>{label}</Badge>
        </>
      }
    >
      <Facts>
        <Fact name="Input">
          <AllDigits amount={cost?.input ?? null} />
        </Fact>
        <Fact name="Output">
          <AllDigits amount={cost?.output ?? null} />
        </Fact>
        <Fact name={<span className="font-medium text-ink">Total</span>}>
          <span className="font-semibold">
            <AllDigits amount={cost?.total ?? null} />
          </span>
        </Fact>
      </Facts>
      <p className="mt-3 border-t border-line pt-3 text-ink-soft">{text}</p>
    </Card>
  );
}

/** All twelve digits stand under each other; zeros at the end are pale, so that the amount can be read. */
function AllDigits({ amount }: Readonly<{ amount: string | null }>) {
  if (amount === null) return <span className="text-ink-faint">–</span>;
  const [, digits = amount, zeros = ''] = /^(-?\d+\.\d{2}\d*?)(0*)$/.exec(amount) ?? [];
  return (
    <span className="figures">
      ${digits}
      <span className="text-ink-faint">{zeros}</span>
    </span>
  );
}
