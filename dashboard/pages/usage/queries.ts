import { keepPreviousData } from '@tanstack/react-query';
import type { Usage } from '../../../src/console/contract.ts';
import { addressOf } from '../../api/client.ts';
import { accountPath, useAccount, useAccountQuery } from '../../api/session.ts';
import type { Range } from './range.ts';

export function useUsage({ from, to }: Range) {
  return useAccountQuery<Usage>('usage', { query: { from, to }, placeholderData: keepPreviousData });
}

/** Where the same rows are to be had as a file. */
export function useCsvAddress({ from, to }: Range): string {
  const { id } = useAccount();
  return addressOf(accountPath(id, 'usage.csv'), { from, to });
}
