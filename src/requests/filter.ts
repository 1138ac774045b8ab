/** What requests must be like to be listed. */
import type { Label } from '../generations/attribution.ts';
import { finishedStatuses, type GenerationStatus } from '../generations/generation-store.ts';

export type RequestStatus = GenerationStatus | 'refused';

/** Null matches everything, and so does no label. */
export type RequestFilter = Readonly<{
  /** IDs are times: from the first one, up to the one before `end`. */
  first: string;
  end: string;
  accountId: string | null;
  keyId: string | null;
  status: RequestStatus | null;
  errorCode: string | null;
  model: string | null;
  provider: string | null;
  api: string | null;
  labels: readonly Label[];
  isStreamed: boolean | null;
  isFallback: boolean | null;
  /** In USD, as a decimal. */
  minCost: string | null;
  minDurationMs: number | null;
}>;

/** Which statuses a request that matches may have at all. */
export function possibleStatuses(filter: RequestFilter): ReadonlySet<RequestStatus> {
  const { status, errorCode, provider, isStreamed, isFallback, minCost, minDurationMs } = filter;
  const statuses = new Set<RequestStatus>(status === null ? allStatuses : [status]);
  // Only what failed or was refused has a code.
  if (errorCode !== null)
    for (const without of ['in_progress', 'completed', 'cancelled'] as const) statuses.delete(without);
  if (minCost !== null) statuses.delete('in_progress');
  // Nobody was called for a refused one.
  const isAboutCall = [provider, isStreamed, isFallback, minCost, minDurationMs].some(
    (wanted) => wanted !== null,
  );
  if (isAboutCall) statuses.delete('refused');
  return statuses;
}

const allStatuses = ['in_progress', ...finishedStatuses, 'refused'] as const;
