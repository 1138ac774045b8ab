/** Generations in the words of the console's contract. */
import { presentGeneration, presentSummary } from '../../generations/present.ts';
import { formatMoney } from '../../lib/money.ts';
import type { GenerationDetail, GenerationRow } from '../contract.ts';
import type { DetailedGeneration, ListedGeneration } from './generation-queries.ts';

export function presentRow(generation: ListedGeneration): GenerationRow {
  return { ...presentSummary(generation), key: generation.key };
}

export function presentDetail(generation: DetailedGeneration): GenerationDetail {
  const { key, status, charged, refunded, isEstimated, writtenOff, writeOffReason } = generation;
  return {
    ...presentGeneration(generation),
    key,
    ledger:
      status === 'in_progress'
        ? null
        : {
            charged: charged ?? formatMoney(0n),
            refunded,
            is_estimated: isEstimated,
            written_off: writtenOff,
            write_off_reason: writeOffReason,
          },
  };
}
