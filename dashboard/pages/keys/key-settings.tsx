import { Link } from '@tanstack/react-router';
import type { Key } from '../../../src/console/contract.ts';
import { formatMoneyExactly } from '../../kit/amounts.ts';
import { LinkButton } from '../../kit/button.tsx';
import { Card, Fact, Facts } from '../../kit/card.tsx';
import { textLinkClass } from '../../kit/class-names.ts';
import { CopyButton } from '../../kit/copy-button.tsx';
import { Time } from '../../kit/figures.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { QueryTable } from '../../kit/query-table.tsx';
import { modelLink } from '../../links.ts';
import { limitColumns } from '../limits/limit-columns.tsx';
import { useLimits, useOwnLimits } from '../limits/queries.ts';

export function KeySettings({ subject }: Readonly<{ subject: Key }>) {
  const { id, allowed_models: models, monthly_limit: limit, state } = subject;
  return (
    <Card title="Settings">
      <Facts>
        <Fact name="ID">
          <span className="inline-flex items-center gap-1">
            <code className="font-mono text-xs">{id}</code>
            <CopyButton text={id} label="Copy key ID" />
          </span>
        </Fact>
        <Fact name="Requests per minute">{formatCount(subject.requests_per_minute)}</Fact>
        <Fact name="Concurrent requests">{formatCount(subject.max_concurrent)}</Fact>
        <Fact name="Monthly limit">{limit === null ? 'None' : formatMoneyExactly(limit)}</Fact>
        <Fact name="Models">{models === null ? 'All' : <ModelNames models={models} />}</Fact>
        <Fact name="Expires">
          <Time at={subject.expires_at} otherwise="Never" />
        </Fact>
        {(state === 'revoked' || state === 'replaced') && (
          <Fact name={state === 'revoked' ? 'Revoked' : 'Ends'}>
            <Time at={subject.revoked_at} />
          </Fact>
        )}
      </Facts>
    </Card>
  );
}

function ModelNames({ models }: Readonly<{ models: readonly string[] }>) {
  if (models.length === 0) return 'None';
  return models.map((model, at) => (
    <span key={model}>
      {at > 0 && ', '}
      <Link {...modelLink(model)} className={textLinkClass}>
        {model}
      </Link>
    </span>
  ));
}

/** Those besides its settings. They are set on the page of limits, by those who may. */
export function KeyLimits({ keyId, canSet }: Readonly<{ keyId: string; canSet: boolean }>) {
  const limits = useLimits(useOwnLimits(), { key_id: keyId });
  return (
    <Card
      title="Other limits"
      actions={
        canSet && (
          <LinkButton to="/limits" search={{ key: keyId }} size="small">
            Set limits
          </LinkButton>
        )
      }
      isFlush
    >
      <QueryTable
        query={limits}
        errorTitle="The limits could not be loaded"
        caption="Limits of this key"
        columns={limitColumns(
          () => false,
          () => undefined,
        ).filter(({ key }) => key === 'name' || key === 'used' || key === 'resets')}
        rows={limits.data?.data}
        rowKey={({ id }) => id}
        expectedRows={1}
        empty={<p className="py-3 text-ink-faint">None.</p>}
      />
    </Card>
  );
}
