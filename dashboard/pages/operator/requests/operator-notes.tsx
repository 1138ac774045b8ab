/** What only operators see of a request, and the refund that only they can make. */
import { Undo2 } from 'lucide-react';
import { useState } from 'react';
import type { OperatorGeneration } from '../../../../src/console/operator-contract.ts';
import { formatMoneyExactly, signOfMoney, subtractMoney } from '../../../kit/amounts.ts';
import { Button } from '../../../kit/button.tsx';
import { Callout } from '../../../kit/callout.tsx';
import { formatCount } from '../../../kit/format-figures.ts';
import { MovementDialog } from '../movements/movement-dialog.tsx';

type Refundable = Pick<OperatorGeneration, 'id' | 'ledger'>;

/** Only where something is left to refund. */
export function RefundButton({ generation: { id, ledger } }: Readonly<{ generation: Refundable }>) {
  const [isOpen, setOpen] = useState(false);
  const left = ledger === null ? 0 : signOfMoney(subtractMoney(ledger.charged, ledger.refunded ?? '0'));
  if (left <= 0 && !isOpen) return null;
  return (
    <>
      <Button icon={Undo2} size="small" onClick={() => setOpen(true)}>
        Refund
      </Button>
      {isOpen && (
        <MovementDialog
          subject={{ kind: 'refund', requestId: id }}
          title="Refund request"
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}

type Noted = Pick<OperatorGeneration, 'error' | 'ledger' | 'usage' | 'reported_usage'>;

export function OperatorNotes({ generation }: Readonly<{ generation: Noted }>) {
  const { error, ledger, reported_usage: reportedUsage } = generation;
  const reported = describeReported(generation);
  const unpaid = ledger?.write_off_reason === 'implausible_usage' && ledger.written_off;
  return (
    <>
      {error !== null && (
        <Callout tone="bad" title={error.message}>
          The customer received this message with the code{' '}
          <code className="font-mono text-ink">{error.code}</code>. How each provider responded is shown
          below.
        </Callout>
      )}
      {reported.length > 0 && (
        <Callout tone="warn" title="The provider reported implausible usage">
          {reported.map((sentence) => (
            <p key={sentence}>{sentence}</p>
          ))}
          <ReportedCounts counts={reportedUsage?.counts ?? []} />
          <p>
            {unpaid ? `The difference of ${formatMoneyExactly(unpaid)} was not charged to anyone. ` : ''}
            The customer does not see this. Clarify it with the provider.
          </p>
        </Callout>
      )}
    </>
  );
}

/** By the names that the provider's documentation has. */
function ReportedCounts({ counts }: Readonly<{ counts: readonly ReportedCount[] }>) {
  if (counts.length === 0) return null;
  return (
    <ul className="my-1.5 flex flex-wrap gap-x-4 gap-y-1">
      {counts.map(({ name, count }) => (
        <li key={name} className="figures">
          <code className="font-mono text-[0.8125rem]">{name}</code>: {describeCount(count)}
        </li>
      ))}
    </ul>
  );
}

/** Zero would claim that the provider had counted. */
export function describeCount(count: number | null): string {
  return count === null ? 'not a number' : formatCount(count);
}

type ReportedCount = NonNullable<NonNullable<OperatorGeneration['reported_usage']>['counts']>[number];

/** Usage beyond what the request can have used, in sentences; none if the reported usage was plausible. */
export function describeReported({
  usage,
  reported_usage: reported,
}: Pick<OperatorGeneration, 'usage' | 'reported_usage'>): string[] {
  if (reported === null) return [];
  const { input_tokens: input, output_tokens: output, counts } = reported;
  if (usage === null || usage.unit !== 'tokens')
    return [`The provider reported ${formatCount(input)} input and ${formatCount(output)} output tokens.`];
  const sentences: string[] = [];
  if (counts !== null)
    sentences.push(
      'The provider reported counts that contradict each other. The customer was charged by the lowest reading of them.',
    );
  if (input > usage.input_tokens)
    sentences.push(
      `The provider reported ${formatCount(input)} input tokens, but the request cannot have more than ${formatCount(usage.input_tokens)}. Charged for ${formatCount(usage.input_tokens)}.`,
    );
  if (output > usage.output_tokens)
    sentences.push(
      `The provider reported ${formatCount(output)} output tokens, but at most ${formatCount(usage.output_tokens)} were requested. Charged for ${formatCount(usage.output_tokens)}.`,
    );
  if (output === 0) sentences.push('The provider reported no output tokens, but it delivered text.');
  if (sentences.length === 0)
    sentences.push(
      'The provider reported input written to a cache in a way that this request cannot have caused. It was charged as what the request can cause.',
    );
  return sentences;
}
