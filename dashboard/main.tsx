import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { createRoot } from 'react-dom/client';
import { goToSignIn } from './address.ts';
import { queryClient, whenSessionIsLost } from './api/client.ts';
import { ToastRegion } from './kit/toast.tsx';
import { fetchPagesWhenIdle } from './lazy-page.ts';
import { router } from './router.tsx';

whenSessionIsLost(() => goToSignIn(router));
fetchPagesWhenIdle(router);

const place = document.getElementById('app');
if (place === null) throw new Error('The page has no place for the app.');
createRoot(place).render(
  <QueryClientProvider client={queryClient}>
    <RouterProvider router={router} />
    <ToastRegion />
  </QueryClientProvider>,
);
