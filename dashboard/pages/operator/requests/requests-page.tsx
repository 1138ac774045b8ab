/** The requests of all accounts. */
import { Explorer } from '../../requests/explorer.tsx';
import { useOperatorScope } from '../../requests/scope.ts';
import { operatorExtras } from './operator-extras.tsx';

export function OperatorRequestsPage() {
  return <Explorer scope={useOperatorScope()} extras={operatorExtras} />;
}
