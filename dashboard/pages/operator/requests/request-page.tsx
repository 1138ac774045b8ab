/** Any request of any account, for operators who are asked about it. */
import { RequestFrame } from '../../requests/request-page.tsx';
import { useOperatorScope } from '../../requests/scope.ts';
import { operatorExtras } from './operator-extras.tsx';

export function OperatorRequestPage() {
  return <RequestFrame scope={useOperatorScope()} extras={operatorExtras} />;
}
