/** Whose request it is, and what it was. */
import { Link } from '@tanstack/react-router';
import type { OperatorGeneration } from '../../../../src/console/operator-contract.ts';
import { Card } from '../../../kit/card.tsx';
import { Fact, Facts } from '../../../kit/facts.tsx';
import { formatCount } from '../../../kit/format-figures.ts';
import { textLinkClass } from '../../../kit/text-link.ts';
import { Duration, Time } from '../../../kit/time.tsx';

export function OwnerCard({ generation }: Readonly<{ generation: OperatorGeneration }>) {
  const { account, key, usage } = generation;
  return (
    <Card title="Request">
      <Facts>
        <Fact name="Account">
          <Link to="/operator/accounts" search={{ search: account.id }} className={textLinkClass}>
            {account.name}
          </Link>
        </Fact>
        <Fact name="Key">
          {key.name} <code className="font-mono text-xs text-ink-faint">{key.hint}</code>
        </Fact>
        <Fact name="Started">
          <Time at={generation.created_at} style="exact" />
        </Fact>
        <Fact name="Ended">
          <Time at={generation.completed_at} style="exact" otherwise="Still running" />
        </Fact>
        <Fact name="Latency">
          <Duration ms={generation.latency_ms} />
        </Fact>
        <Fact name="Time to first token">
          <Duration ms={generation.time_to_first_token_ms} />
        </Fact>
        <Fact name="Answer">{generation.streaming ? 'Streamed' : 'In one piece'}</Fact>
        {usage === null ? (
          <Fact name="Usage">
            <span className="text-ink-faint">–</span>
          </Fact>
        ) : usage.unit === 'images' ? (
          <Fact name="Images">{formatCount(Number(usage.units))}</Fact>
        ) : (
          <Fact name="Tokens">
            {formatCount(usage.input_tokens)} in, {formatCount(usage.output_tokens)} out
          </Fact>
        )}
      </Facts>
    </Card>
  );
}
