/** How much of the input came from prompt caches, and what that did to the cost. */
import type { UsageFigures } from '../../../src/console/contract.ts';
import { Money } from '../../kit/figures.tsx';
import { formatCount, formatShare } from '../../kit/format-figures.ts';
import { Stat, StatGroup } from '../../kit/stat.tsx';
import { describeSaved, hasCaches, shareOfInput } from './cache-words.ts';

/** Undefined while it is being loaded. */
export function CacheFigures({ totals }: Readonly<{ totals: UsageFigures | undefined }>) {
  if (totals?.input_tokens === 0) return null;
  return (
    <section aria-labelledby="caches">
      <h2 id="caches" className="mb-3 font-semibold">
        Prompt caches
      </h2>
      {totals !== undefined && !hasCaches(totals) ? (
        <p className="text-ink-soft">
          No input was read from a cache on these days, and none was written to one. Providers keep long
          prompts in caches, so that requests that begin alike cost less.
        </p>
      ) : (
        <CacheStats totals={totals} />
      )}
    </section>
  );
}

function CacheStats({ totals }: Readonly<{ totals: UsageFigures | undefined }>) {
  const saved = totals && describeSaved(totals.cache_saved);
  return (
    <StatGroup>
      <Stat
        label="Input read from caches"
        value={totals && formatShare(shareOfInput(totals.cache_read_tokens, totals.input_tokens) ?? 0)}
        hint={
          totals === undefined
            ? ' '
            : `${formatCount(totals.cache_read_tokens)} of ${formatCount(totals.input_tokens)} tokens`
        }
      />
      <Stat
        label="Input written to caches"
        value={totals && formatShare(shareOfInput(totals.cache_write_tokens, totals.input_tokens) ?? 0)}
        hint={totals === undefined ? ' ' : `${formatCount(totals.cache_write_tokens)} tokens`}
      />
      <Stat
        label={saved?.label ?? 'Saved by caches'}
        value={saved && <Money amount={saved.amount} isTotal />}
        hint={saved?.hint ?? ' '}
      />
    </StatGroup>
  );
}
