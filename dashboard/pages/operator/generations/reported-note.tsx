/** Says what was not believed of a provider's report, and what it would have cost. */
import type { OperatorGeneration } from '../../../../src/console/operator-contract.ts';
import { Callout } from '../../../kit/callout.tsx';
import { formatMoneyExactly } from '../../../kit/format-money.ts';
import { describeReported } from './describe-reported.ts';

export function ReportedNote({ generation }: Readonly<{ generation: OperatorGeneration }>) {
  const sentences = describeReported(generation);
  if (sentences.length === 0) return null;
  const unpaid = generation.ledger?.write_off_reason === 'implausible_usage' && generation.ledger.written_off;
  return (
    <Callout tone="warn" title="What the provider reported cannot be right">
      {sentences.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
      <p>
        {unpaid ? `The difference, ${formatMoneyExactly(unpaid)}, was charged to nobody. ` : ''}
        The customer does not see this. Clear it up with the provider.
      </p>
    </Callout>
  );
}
