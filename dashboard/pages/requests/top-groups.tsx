/** The models or keys with the most requests of a range. */
import { Link } from '@tanstack/react-router';
import type { RequestGroups } from '../../../src/console/request-contract.ts';
import { Card } from '../../kit/card.tsx';
import { nameLinkClass } from '../../kit/class-names.ts';
import { EstimatedDuration } from '../../kit/figures.tsx';
import { formatShare } from '../../kit/format-figures.ts';
import { ModelMark } from '../../kit/model-mark.tsx';
import { QueryTable } from '../../kit/query-table.tsx';
import { type Column, moneyColumn } from '../../kit/table.tsx';
import { keyLink, modelLink, providerLink } from '../../links.ts';
import { ErrorShare, errorTones } from '../home/top-table.tsx';
import { countRequests, errorRateOf, toneOfErrors } from './figures.ts';
import { countColumn, useGroupsOf } from './of-one-thing.tsx';
import { useScope } from './scope.ts';
import type { View } from './view.ts';

type Group = RequestGroups['data'][number];

/** Of those that completed or failed; null without any. A refusal says nothing about whoever would have served it. */
export function successOf({ completed, failed }: Pick<Group, 'completed' | 'failed'>): number | null {
  return completed + failed === 0 ? null : completed / (completed + failed);
}

export function SuccessShare({ share }: Readonly<{ share: number | null }>) {
  if (share === null) return <span className="text-ink-faint">–</span>;
  return <span className={`figures ${errorTones[toneOfErrors(1 - share)]}`}>{formatShare(share)}</span>;
}

export const figureColumns: readonly Column<Group>[] = [
  countColumn('requests', 'Requests', countRequests),
  { ...countColumn<Group>('refused', 'Refused', ({ refused }) => refused, 'text-warn'), isWide: true },
  {
    key: 'success',
    header: 'Success',
    align: 'right',
    cell: (group) => <SuccessShare share={successOf(group)} />,
  },
  durationColumn('p50', 'p50', (group) => group.duration_ms_p50),
  { ...durationColumn('p95', 'p95', (group) => group.duration_ms_p95), isWide: true },
  {
    ...durationColumn('first', 'First token', (group) => group.time_to_first_token_ms_p50),
    isOptional: true,
    isWide: true,
  },
  moneyColumn({ key: 'cost', header: 'Cost', amountOf: ({ cost }) => cost, style: 'total' }),
];

function durationColumn(key: string, header: string, msOf: (group: Group) => number | null): Column<Group> {
  return { key, header, align: 'right', cell: (group) => <EstimatedDuration ms={msOf(group)} /> };
}

/** As on the homes: to whom a model or a key belongs, a refusal is an error like any other. */
const errorsColumn: Column<Group> = {
  key: 'errors',
  header: 'Errors',
  align: 'right',
  cell: (group) => <ErrorShare rate={errorRateOf(group)} />,
};

export function TopModels({ view }: Readonly<{ view: View }>) {
  return <TopGroups view={view} by="model" title="Models" />;
}

export function TopKeys({ view }: Readonly<{ view: View }>) {
  return <TopGroups view={view} by="key" title="Keys" />;
}

/** As many as fit without scrolling; the explorer has the others. */
const maxShown = 10;

function TopGroups({ view, by, title }: Readonly<{ view: View; by: 'model' | 'key'; title: string }>) {
  const groups = useGroupsOf(view, by, 'requests', maxShown);
  return (
    <Card title={title} description="Those with the most requests" isFlush>
      <QueryTable
        query={groups}
        caption={title}
        columns={[
          {
            key: 'name',
            header: title.slice(0, -1),
            isBare: true,
            cell: (group) => (by === 'model' ? <ModelName model={group.value} /> : <KeyName group={group} />),
          },
          ...figureColumns.map((column) => (column.key === 'success' ? errorsColumn : column)),
        ]}
        rows={groups.data?.data}
        rowKey={({ value }) => value ?? ''}
        expectedRows={2}
        empty={<p className="py-3 text-ink-faint">No requests.</p>}
      />
    </Card>
  );
}

export function ModelName({ model }: Readonly<{ model: string | null }>) {
  if (model === null) return <span className="text-ink-faint">No model of the catalogue</span>;
  return (
    <span className="whitespace-nowrap">
      <ModelMark model={model} />
      <Link {...modelLink(model)} className={nameLinkClass}>
        {model}
      </Link>
    </span>
  );
}

function KeyName({ group: { value, name } }: Readonly<{ group: Group }>) {
  if (value === null) return <span className="text-ink-faint">–</span>;
  return (
    <Link {...keyLink(value)} className={nameLinkClass}>
      {name ?? value}
    </Link>
  );
}

export function ProviderName({ provider }: Readonly<{ provider: string | null }>) {
  const { reader } = useScope();
  if (provider === null) return <span className="text-ink-faint">No provider called</span>;
  return (
    <Link {...providerLink(provider, reader)} className={nameLinkClass}>
      {provider}
    </Link>
  );
}
