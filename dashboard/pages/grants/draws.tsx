/** Which grants money was drawn from, or given back to. */
import { ChevronRight } from 'lucide-react';
import type { GrantDraw, LedgerEntry } from '../../../src/console/contract.ts';
import { formatMoneyExactly, signOfMoney } from '../../kit/amounts.ts';
import { classNames } from '../../kit/class-names.ts';
import { sourceOf } from './grant-words.ts';

type EntryDrawsProps = Readonly<{ kind: LedgerEntry['kind']; draws: readonly GrantDraw[] }>;

/** One grant is named; several are listed when someone opens the line. */
export function EntryDraws({ kind, draws }: EntryDrawsProps) {
  const [first] = draws;
  // What has ended is about its grant anyway.
  if (first === undefined || kind === 'expiry' || kind === 'void') return null;
  const direction = signOfMoney(first.amount) < 0 ? 'Back to' : 'From';
  if (draws.length === 1)
    return (
      <span className="block text-xs text-ink-faint">
        {direction} {sourceOf(first)}
      </span>
    );
  return (
    <details className="group/draws text-xs text-ink-faint">
      <summary className="flex w-fit items-center gap-0.5 my-0.5 rounded py-1 pr-1 select-none hover:text-ink">
        <ChevronRight
          aria-hidden
          className="-ml-0.5 size-3.5 transition-transform group-open/draws:rotate-90"
        />
        {direction} {draws.length} grants
      </summary>
      <DrawList draws={draws} className="mt-1 pl-4" />
    </details>
  );
}

export function DrawList({
  draws,
  className,
}: Readonly<{ draws: readonly GrantDraw[]; className?: string }>) {
  return (
    <ul className={classNames('space-y-0.5', className)}>
      {draws.map((draw) => (
        <li key={draw.number}>
          <span className="figures whitespace-nowrap text-ink-soft">{sizeOf(draw.amount)}</span>{' '}
          {signOfMoney(draw.amount) < 0 ? 'to' : 'from'} {sourceOf(draw)}
        </li>
      ))}
    </ul>
  );
}

function sizeOf(amount: string): string {
  return formatMoneyExactly(amount.replace('-', ''));
}
