import { keepPreviousData } from '@tanstack/react-query';
import type { Statement } from '../../../src/console/contract.ts';
import { useAccountQuery } from '../../api/session.ts';

const pageSize = 50;
const newestEveryMs = 15_000;

export function useStatement(cursor: string | null) {
  return useAccountQuery<Statement>('ledger', {
    query: { limit: pageSize, cursor },
    placeholderData: keepPreviousData,
    ...(cursor === null ? { refetchInterval: newestEveryMs } : {}),
  });
}
