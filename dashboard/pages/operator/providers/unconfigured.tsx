/** The providers that the catalogue names and nobody has given a key for: often most of them, and little to say of each. */
import type { Providers } from '../../../../src/console/operator-contract.ts';
import { Badge } from '../../../kit/badge.tsx';
import { Callout } from '../../../kit/callout.tsx';
import { Card } from '../../../kit/card.tsx';

type UnconfiguredProps = Readonly<{
  providers: Providers['data'];
  /** Whether there is no other provider at all. */
  isAlone: boolean;
}>;

export function Unconfigured({ providers, isAlone }: UnconfiguredProps) {
  if (providers.length === 0) return null;
  return (
    <Card
      title="Not configured"
      description="Their keys are not set on this node. To use one, set its key in the environment of the gateway and start it again."
    >
      {isAlone && (
        <div className="mb-4">
          <Callout tone="warn" title="No provider has its key">
            Until one has, every request to a model is refused.
          </Callout>
        </div>
      )}
      <ul className="flex flex-wrap gap-2">
        {providers.map(({ id, name }) => (
          <li key={id} title={id}>
            <Badge>{name}</Badge>
          </li>
        ))}
      </ul>
    </Card>
  );
}
