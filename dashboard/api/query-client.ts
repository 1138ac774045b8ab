import { QueryClient } from '@tanstack/react-query';
import { ApiProblem } from './problem.ts';

const mostRetries = 2;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      // A gateway on this machine or in this house can be asked whatever the browser thinks of its connection.
      networkMode: 'always',
      refetchOnReconnect: true,
      // What the gateway refuses, it refuses again; what failed on the way may work the next time.
      retry: (failures, error) =>
        failures < mostRetries && error instanceof ApiProblem && (error.status === 0 || error.status >= 500),
    },
    mutations: { retry: false, networkMode: 'always' },
  },
});
