/** The requests of the selected account. */
import { Explorer } from './explorer.tsx';
import { customerExtras } from './request-page.tsx';
import { useAccountScope } from './scope.ts';

export function RequestsPage() {
  return <Explorer scope={useAccountScope()} extras={customerExtras} />;
}
