/** While something takes longer than a moment: the frame of the whole app, or one page within it. */
import { SkeletonLines } from '../kit/skeleton.tsx';
import { Wordmark } from './wordmark.tsx';

export function PendingApp() {
  return (
    <div role="status" className="grid min-h-dvh animate-breathe place-items-center">
      <Wordmark />
      <span className="sr-only">Loading …</span>
    </div>
  );
}

export function PendingPage() {
  return <SkeletonLines count={8} />;
}
