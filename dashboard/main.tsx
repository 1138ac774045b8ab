import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { createRoot } from 'react-dom/client';
import { goToSignIn } from './address.ts';
import { onSessionLost, queryClient } from './api/client.ts';
import { ToastRegion } from './kit/toast.tsx';
import { fetchPagesWhenIdle } from './lazy-page.ts';
import { router } from './router.tsx';

onSessionLost(() => goToSignIn(router));
fetchPagesWhenIdle(router);

const container = document.getElementById('app');
if (container === null) throw new Error('The page has no element for the app.');
createRoot(container).render(
  <QueryClientProvider client={queryClient}>
    <RouterProvider router={router} />
    <ToastRegion />
  </QueryClientProvider>,
);
