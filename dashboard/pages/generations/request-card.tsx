import { Link } from '@tanstack/react-router';
import type { GenerationDetail } from '../../../src/console/contract.ts';
import { Card } from '../../kit/card.tsx';
import { Fact, Facts } from '../../kit/facts.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { textLinkClass } from '../../kit/text-link.ts';
import { Time } from '../../kit/time.tsx';

export function RequestCard({ generation }: Readonly<{ generation: GenerationDetail }>) {
  const { key, usage } = generation;
  return (
    <Card title="Request">
      <Facts>
        <Fact name="Started">
          <Time at={generation.created_at} style="exact" />
        </Fact>
        <Fact name="Ended">
          <Time at={generation.completed_at} style="exact" otherwise="Still running" />
        </Fact>
        <Fact name="Key">
          <Link to="/generations" search={{ key: key.id }} className={textLinkClass}>
            {key.name}
          </Link>{' '}
          <code className="font-mono text-xs text-ink-faint">{key.hint}</code>
        </Fact>
        <Fact name="Provider">
          {generation.provider}
          {generation.fallback && <span className="text-ink-faint"> after another one failed</span>}
        </Fact>
        <Fact name="Answer">{generation.streaming ? 'Streamed' : 'In one piece'}</Fact>
        {usage?.unit === 'images' ? (
          <Fact name="Images">{formatCount(Number(usage.units))}</Fact>
        ) : (
          <>
            <Fact name="Input tokens">{countOrDash(usage?.input_tokens)}</Fact>
            <Fact name="Output tokens">{countOrDash(usage?.output_tokens)}</Fact>
          </>
        )}
      </Facts>
    </Card>
  );
}

function countOrDash(count: number | undefined) {
  return count === undefined ? <span className="text-ink-faint">–</span> : formatCount(count);
}
