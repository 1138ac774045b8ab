import type { Attention } from '../../../src/console/contract.ts';
import { LinkButton } from '../../kit/button.tsx';
import { Callout } from '../../kit/callout.tsx';
import { describeAttention } from './describe-attention.ts';

export function AttentionList({ attention }: Readonly<{ attention: readonly Attention[] }>) {
  if (attention.length === 0) return null;
  const notices = attention
    .map(describeAttention)
    .toSorted((left, right) => Number(right.tone === 'bad') - Number(left.tone === 'bad'));
  return (
    <section aria-labelledby="attention">
      <h2 id="attention" className="mb-3 font-semibold">
        Needs attention
      </h2>
      <ul className="space-y-2">
        {notices.map(({ key, tone, title, text, link }) => (
          <li key={key}>
            <Callout
              tone={tone}
              title={title}
              actions={
                <LinkButton to={link.to} size="small">
                  {link.label}
                </LinkButton>
              }
            >
              {text}
            </Callout>
          </li>
        ))}
      </ul>
    </section>
  );
}
