/** What went wrong at a provider by code, and how it serves each model. */
import { Link } from '@tanstack/react-router';
import type { AttemptFigures, ProviderSeries } from '../../../../src/console/request-contract.ts';
import { Card } from '../../../kit/card.tsx';
import { textLinkClass } from '../../../kit/class-names.ts';
import { EstimatedDuration } from '../../../kit/figures.tsx';
import { formatShare } from '../../../kit/format-figures.ts';
import { ModelMark } from '../../../kit/model-mark.tsx';
import { type Column, Table } from '../../../kit/table.tsx';
import { requestsWith } from '../../../links.ts';
import { countColumn } from '../../requests/of-one-thing.tsx';
import { SuccessShare } from '../../requests/top-groups.tsx';
import type { Range } from '../../requests/view.ts';
import { countCalls, successOfCalls } from './provider-figures.ts';

type TableProps = Readonly<{ series: ProviderSeries; provider: string; range: Range }>;

/** An empty one is left out of the address. */
function rangeSearch(range: Range): Readonly<Record<string, string>> {
  return range.kind === 'custom'
    ? { range: '', from: range.from ?? '', to: range.to ?? '' }
    : { range: range.kind };
}

export function Errors({ series, provider, range }: TableProps) {
  const calls = countCalls(series.totals);
  const columns: readonly Column<ProviderSeries['errors'][number]>[] = [
    {
      key: 'code',
      header: 'Code',
      isBare: true,
      cell: ({ code }) => (
        <>
          <Link
            {...requestsWith({ provider, error_code: code, ...rangeSearch(range) }, 'operator')}
            className={`${textLinkClass} font-mono`}
          >
            {code}
          </Link>{' '}
          {code === 'provider_bad_request' && (
            <span className="text-ink-faint">Rejected as invalid: no failure of the provider</span>
          )}
        </>
      ),
    },
    countColumn('failed', 'Calls', ({ failed }) => failed),
    {
      key: 'share',
      header: 'Of all calls',
      align: 'right',
      cell: ({ failed }) => <span className="figures">{formatShare(calls === 0 ? 0 : failed / calls)}</span>,
    },
  ];
  return (
    <Card
      title="Errors"
      description="Calls that ended with an error, by code. Another provider may have served the request."
      isFlush
    >
      <Table
        caption="Errors by code"
        columns={columns}
        rows={series.errors}
        rowKey={({ code }) => code}
        empty={<p className="py-3 text-ink-faint">No call failed.</p>}
      />
    </Card>
  );
}

type ServedModel = AttemptFigures & Readonly<{ model: string }>;

export function ServedModels({ series, provider, range }: TableProps) {
  const columns: readonly Column<ServedModel>[] = [
    {
      key: 'model',
      header: 'Model',
      isBare: true,
      cell: ({ model }) => (
        <>
          <ModelMark model={model} />
          <Link
            {...requestsWith({ provider, model, ...rangeSearch(range) }, 'operator')}
            className={textLinkClass}
          >
            {model}
          </Link>
        </>
      ),
    },
    countColumn('calls', 'Calls', countCalls),
    countColumn('failed', 'Failed', ({ failed, rejected }) => failed - rejected),
    countColumn('rejected', 'Rejected as invalid', ({ rejected }) => rejected),
    {
      key: 'success',
      header: 'Success',
      align: 'right',
      cell: (figures) => <SuccessShare share={successOfCalls(figures)} />,
    },
    {
      key: 'p50',
      header: 'p50',
      align: 'right',
      cell: (figures) => <EstimatedDuration ms={figures.duration_ms_p50} />,
    },
    {
      key: 'p95',
      header: 'p95',
      align: 'right',
      cell: (figures) => <EstimatedDuration ms={figures.duration_ms_p95} />,
    },
  ];
  return (
    <Card title="Models" isFlush>
      <Table
        caption="Models of this provider"
        columns={columns}
        rows={series.models}
        rowKey={({ model }) => model}
        empty={<p className="py-3 text-ink-faint">It was not called in this range.</p>}
      />
    </Card>
  );
}
