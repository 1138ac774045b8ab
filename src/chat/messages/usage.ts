/** The usage of a response. Cached tokens are not part of `input_tokens`. */
import type { Charge } from '../../ledger/settlement.ts';
import { formatMoney } from '../../lib/money.ts';
import type { ReportedUsage } from '../../providers/chat.ts';

/** As it was charged. `cost` is beyond the format: in USD, with all its digits. */
export function presentUsage({ usage, cost }: Charge, reported: ReportedUsage | null) {
  const { inputTokens, outputTokens, cached } = usage;
  const { read, write, writeLong } = cached ?? noCache;
  const thinking = reported?.reasoningTokens ?? null;
  return {
    input_tokens: inputTokens - read - write - writeLong,
    cache_creation_input_tokens: write + writeLong,
    cache_read_input_tokens: read,
    cache_creation: { ephemeral_5m_input_tokens: write, ephemeral_1h_input_tokens: writeLong },
    output_tokens: outputTokens,
    ...(thinking !== null && {
      output_tokens_details: { thinking_tokens: Math.min(thinking, outputTokens) },
    }),
    cost: formatMoney(cost.total),
  };
}

const noCache = { read: 0, write: 0, writeLong: 0 };
