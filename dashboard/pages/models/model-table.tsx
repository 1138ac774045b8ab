/** All models in one table, with how they served the requests of this account in the last week. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { RequestGroups } from '../../../src/console/request-contract.ts';
import { useSearchValue } from '../../address.ts';
import { get } from '../../api/client.ts';
import { accountKey, accountPath, useAccount } from '../../api/session.ts';
import { Badge } from '../../kit/badge.tsx';
import { textLinkClass } from '../../kit/class-names.ts';
import { Field, Select } from '../../kit/field.tsx';
import { Dash, EstimatedDuration, Money } from '../../kit/figures.tsx';
import { formatCount, formatCountShort } from '../../kit/format-figures.ts';
import { ModelMark } from '../../kit/model-mark.tsx';
import { type Column, Table } from '../../kit/table.tsx';
import { modelLink, requestsWith } from '../../links.ts';
import { SuccessShare } from '../requests/top-groups.tsx';
import { isoOf } from '../requests/view.ts';
import { type ModelRow, nextSort, rowsOf, type SortKey, sortIn, sortKeys, sortRows } from './model-rows.ts';
import { capabilities, capabilityLabels, type ListedModel, workloadLabels } from './models.ts';

const dayMs = 86_400_000;
const minuteMs = 60_000;
/** The gateway counts no more than these. */
const maxGroups = 50;

function useWeek() {
  const { id } = useAccount();
  return useQuery<RequestGroups>({
    queryKey: [...accountKey(id), 'requests', 'groups', 'models of a week'],
    queryFn: ({ signal }) =>
      get<RequestGroups>(accountPath(id, 'requests', 'groups'), {
        query: { by: 'model', from: isoOf(Math.floor(Date.now() / minuteMs) * minuteMs - 7 * dayMs) },
        signal,
      }),
    staleTime: minuteMs,
  });
}

export function ModelTable({ models }: Readonly<{ models: readonly ListedModel[] }>) {
  const week = useWeek();
  const [sortText, setSort] = useSearchValue('sort');
  const sort = sortIn(sortText);
  const rows = useMemo(
    () => sortRows(rowsOf(models, week.data?.data), sortIn(sortText)),
    [models, week.data, sortText],
  );
  return (
    <div className="space-y-2">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p role="status" className="text-xs text-ink-faint">
          {models.length === 1 ? '1 model' : `${models.length} models`}
          <span className="max-sm:hidden">
            . p50, success and spend are those of your requests in the last 7 days
            {(week.data?.data.length ?? 0) >= maxGroups && `, of your ${maxGroups} most used models`}.
          </span>
        </p>
        <Field label="Sort by" isLabelHidden className="w-44 md:hidden">
          <Select value={sortText} options={sortOptions} onChange={setSort} />
        </Field>
      </div>
      <Table
        caption="Models"
        columns={columns}
        rows={rows}
        rowKey={({ model }) => model.id}
        rowLink={({ model }) => modelLink(model.id)}
        sorting={{
          key: sort?.key ?? '',
          isDown: sort?.isDown ?? false,
          onSort: (key) => setSort(nextSort(sort, key as SortKey)),
        }}
      />
    </div>
  );
}

const sortLabels: Readonly<Record<SortKey, string>> = {
  name: 'Name',
  input: 'Input price',
  output: 'Output price',
  context: 'Context',
  p50: 'p50',
  success: 'Success',
  spend: 'Spend',
};
const sortOptions = [
  { value: '', label: 'Catalogue order' },
  ...sortKeys.map((key) => ({ value: nextSort(null, key), label: sortLabels[key] })),
];

const columns: readonly Column<ModelRow>[] = [
  {
    key: 'name',
    header: 'Model',
    isBare: true,
    isSortable: true,
    cell: (row) => <ModelCell row={row} />,
  },
  {
    key: 'input',
    header: 'Input / 1M',
    align: 'right',
    isSortable: true,
    isWide: true,
    cell: ({ price }) => <InputPrice price={price} />,
  },
  {
    key: 'output',
    header: 'Output / 1M',
    align: 'right',
    isSortable: true,
    isWide: true,
    cell: ({ price }) => <Money amount={price.output} isExact />,
  },
  {
    key: 'context',
    header: 'Context',
    align: 'right',
    isSortable: true,
    isWide: true,
    cell: ({ model }) => <Tokens count={model.context_window} />,
  },
  {
    key: 'can',
    header: 'Capabilities',
    isWide: true,
    isOptional: true,
    cell: ({ model }) => <Abilities model={model} />,
  },
  {
    key: 'p50',
    header: 'p50',
    align: 'right',
    isSortable: true,
    isWide: true,
    cell: ({ figures }) => <EstimatedDuration ms={figures?.duration_ms_p50 ?? null} />,
  },
  {
    key: 'success',
    header: 'Success',
    align: 'right',
    isSortable: true,
    isWide: true,
    cell: ({ success }) => <SuccessShare share={success} />,
  },
  {
    key: 'spend',
    header: 'Your spend',
    align: 'right',
    isSortable: true,
    isWide: true,
    cell: (row) => <Spend row={row} />,
  },
];

/** On a phone it has a second line, with what the other columns say. */
function ModelCell({ row: { model, price, figures, success } }: Readonly<{ row: ModelRow }>) {
  const { id, name, endpoint } = model;
  return (
    <span className="block min-w-0">
      <span className="flex min-w-0 items-baseline gap-x-2">
        <span className="max-w-full shrink-0 truncate xl:max-w-64" title={name}>
          <ModelMark model={id} />
          {name}
        </span>
        {name !== id && (
          <code className="min-w-0 truncate font-mono font-normal text-ink-faint md:max-w-56" title={id}>
            {id}
          </code>
        )}
        {endpoint === null && <Badge tone="warn">Not callable</Badge>}
      </span>
      <span className="flex flex-wrap gap-x-3 font-normal text-ink-faint md:hidden">
        <span>
          <Money amount={price.input} isExact />
          {price.output === null ? (
            ` ${price.unit}`
          ) : (
            <>
              {' in, '}
              <Money amount={price.output} isExact />
              {' out'}
            </>
          )}
        </span>
        {model.context_window !== null && <span>{formatCountShort(model.context_window)} context</span>}
        {figures !== null && (
          <span>
            <EstimatedDuration ms={figures.duration_ms_p50} /> · <SuccessShare share={success} />
          </span>
        )}
      </span>
    </span>
  );
}

function InputPrice({ price: { input, output, unit, isLowest } }: Pick<ModelRow, 'price'>) {
  return (
    <span title={isLowest ? 'The lowest of several prices' : undefined}>
      {isLowest && <span className="text-ink-faint">from </span>}
      <Money amount={input} isExact />
      {output === null && <span className="text-ink-faint"> {unit}</span>}
    </span>
  );
}

function Tokens({ count }: Readonly<{ count: number | null }>) {
  if (count === null) return <Dash />;
  return (
    <span className="figures" title={`${formatCount(count)} tokens`}>
      {formatCountShort(count)}
    </span>
  );
}

function Abilities({ model }: Readonly<{ model: ListedModel }>) {
  const shown = capabilities.filter((capability) => model.capabilities[capability]);
  return (
    <span className="text-ink-soft">
      {[
        model.workload === 'chat' ? null : workloadLabels[model.workload],
        ...shown.map((one) => capabilityLabels[one]),
      ]
        .filter((word) => word !== null)
        .join(', ')}
    </span>
  );
}

/** Leads to the requests that it is for. */
function Spend({ row: { model, figures } }: Readonly<{ row: ModelRow }>) {
  if (figures === null) return <Dash />;
  return (
    <Link {...requestsWith({ model: model.id, range: '7d' }, 'customer')} className={textLinkClass}>
      <Money amount={figures.cost} isTotal />
    </Link>
  );
}
