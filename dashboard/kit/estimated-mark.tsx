/** Marks a charge that the gateway had to estimate. */
import { Badge } from './badge.tsx';

export const aboutEstimates =
  'The gateway ended this call before the provider reported its usage. Input and delivered output were estimated at four bytes a token, which is less than most text has.';

export function EstimatedMark() {
  return (
    <span title={aboutEstimates}>
      <Badge tone="warn">Estimated</Badge>
    </span>
  );
}
