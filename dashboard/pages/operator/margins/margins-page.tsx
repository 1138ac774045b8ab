/** What customers were charged, what providers ask for it, and what is left. */
import { keepPreviousData } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ChartNoAxesCombined, Download } from 'lucide-react';
import { useState } from 'react';
import type { MarginFigures, Margins } from '../../../../src/console/operator-contract.ts';
import { useSearchParameters, useSearchValue } from '../../../address.ts';
import { addressOf } from '../../../api/client.ts';
import { signOfMoney } from '../../../kit/amounts.ts';
import { AnchorButton } from '../../../kit/button.tsx';
import { Callout } from '../../../kit/callout.tsx';
import { Card } from '../../../kit/card.tsx';
import { Segmented } from '../../../kit/choice.tsx';
import { nameLinkClass } from '../../../kit/class-names.ts';
import { Dash, Money } from '../../../kit/figures.tsx';
import { formatCount, formatDay } from '../../../kit/format-figures.ts';
import { Page } from '../../../kit/page.tsx';
import { Pager, pageOfList } from '../../../kit/pager.tsx';
import { QueryTable } from '../../../kit/query-table.tsx';
import { Stat, StatGroup } from '../../../kit/stat.tsx';
import { EmptyState } from '../../../kit/states.tsx';
import { type Column, moneyColumn, type Sorting } from '../../../kit/table.tsx';
import { accountLink, providerLink, requestsWith } from '../../../links.ts';
import { dayOf, RangePicker, rangeIn } from '../../usage/range-picker.tsx';
import { operatorPath, useOperatorQuery } from '../operator-query.ts';
import {
  countOf,
  formatMarginShare,
  knownAmounts,
  type MarginGroup,
  unknownCosts,
  withOthers,
} from './margin-figures.ts';

const dimensions = [
  { value: 'day', label: 'Day', header: 'Day (UTC)' },
  { value: 'model', label: 'Model', header: 'Model' },
  { value: 'provider', label: 'Provider', header: 'Provider' },
  { value: 'account', label: 'Account', header: 'Account' },
  { value: 'price_group', label: 'Prices', header: 'Price group' },
] as const;

/** As many as a month has days. */
const pageSize = 31;

export function OperatorMarginsPage() {
  const [today] = useState(() => dayOf(new Date()));
  const range = rangeIn(useSearchParameters(), today);
  const [byText, setBy] = useSearchValue('by', 'day');
  const { value: by, header } = dimensions.find(({ value }) => value === byText) ?? dimensions[0];
  const [order, setOrder] = useSearchValue('order');
  const wanted = { from: range.from, to: range.to, by, ...(order === '' ? {} : { order }) };
  const margins = useOperatorQuery<Margins>(['margins'], {
    query: wanted,
    placeholderData: keepPreviousData,
  });
  const totals = margins.data?.totals;
  // While other figures are being loaded, those on the screen are grouped as before.
  const shownBy = margins.data?.by ?? by;
  const [page, goTo] = useGroups(margins.data, Object.values(wanted).join(' '));
  return (
    <Page
      title="Margins"
      description="What customers were charged, and what providers ask for it. Customers see none of this."
    >
      <RangePicker range={range} />
      {/* Below, it says that they could not be loaded. */}
      {(totals !== undefined || !margins.isError) && <Totals totals={totals} />}
      {totals !== undefined && <Unknown totals={totals} />}
      <Card
        title="Breakdown"
        isFlush
        actions={
          <>
            <Segmented
              label="Group by"
              value={by}
              options={dimensions}
              onChange={setBy}
              className="max-sm:[&>label]:px-1.5"
            />
            <AnchorButton
              href={addressOf(operatorPath('margins.csv'), wanted)}
              download
              icon={Download}
              size="small"
            >
              CSV
            </AnchorButton>
          </>
        }
      >
        <QueryTable
          query={margins}
          caption={`Margins by ${shownBy}`}
          columns={columnsOf(header, shownBy)}
          rows={page?.items}
          rowKey={({ id, name }) => `${id} ${name}`}
          sorting={sortingOf(order, shownBy, setOrder)}
          empty={
            <EmptyState icon={ChartNoAxesCombined} title="Nothing was charged on these days">
              Choose another date range.
            </EmptyState>
          }
          {...(totals === undefined ? {} : { footer: footerOf(totals) })}
        />
        {page !== undefined && page.pageCount > 1 && (
          <Pager page={page} label="the breakdown" onChange={goTo} />
        )}
      </Card>
    </Page>
  );
}

/** A page of the groups. Another view of them starts at its first. */
function useGroups(margins: Margins | undefined, view: string) {
  const [shown, show] = useState({ view, number: 1 });
  const page = margins && pageOfList(withOthers(margins), shown.view === view ? shown.number : 1, pageSize);
  return [page, (number: number) => show({ view, number })] as const;
}

/** Losses first, when margins are sorted for the first time. */
function sortingOf(order: string, by: Margins['by'], setOrder: (order: string) => void): Sorting {
  const usual = by === 'day' ? 'name' : 'revenue';
  return {
    key: order.endsWith('_margin') ? 'margin' : order === 'revenue' ? order : usual,
    isDown: order !== 'lowest_margin' && (order !== '' || by !== 'day'),
    onSort: (key) => {
      if (key === 'revenue') setOrder('revenue');
      else setOrder(order === 'lowest_margin' ? 'highest_margin' : 'lowest_margin');
    },
  };
}

function Totals({ totals }: Readonly<{ totals: MarginFigures | undefined }>) {
  const known = totals && knownAmounts(totals);
  return (
    <StatGroup>
      <Stat
        label="Revenue"
        value={totals && <Money amount={totals.revenue} isTotal />}
        hint={totals && countOf(totals.requests, 'request')}
      />
      <Stat label="Cost" value={known && <Money amount={known.cost} isTotal />} hint="Of charged requests" />
      <Stat
        label="Uncharged cost"
        value={known && <Money amount={known.uncharged} isTotal />}
        hint={totals && countOf(totals.uncharged_attempts, 'attempt')}
      />
      <Stat
        label="Margin"
        value={known && <Money amount={known.margin} isTotal />}
        tone={totals !== undefined && signOfMoney(totals.margin) < 0 ? 'bad' : 'plain'}
        hint={totals && (formatMarginShare(totals) ?? 'No revenue with a known cost')}
      />
    </StatGroup>
  );
}

function Unknown({ totals }: Readonly<{ totals: MarginFigures }>) {
  const sentences = unknownCosts(totals);
  if (sentences.length === 0) return null;
  return (
    <Callout tone="warn" title="Some costs are unknown">
      {sentences.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
    </Callout>
  );
}

function columnsOf(header: string, by: Margins['by']): Column<MarginGroup>[] {
  return [
    { key: 'name', header, isBare: true, cell: (row) => <GroupName row={row} by={by} /> },
    {
      key: 'requests',
      header: 'Requests',
      align: 'right',
      isWide: true,
      cell: (row) => formatCount(row.requests),
    },
    moneyColumn({
      key: 'revenue',
      header: 'Revenue',
      isSortable: true,
      amountOf: ({ revenue }) => revenue,
      style: 'total',
    }),
    moneyColumn({ key: 'cost', header: 'Cost', amountOf: (row) => knownAmounts(row).cost, style: 'total' }),
    {
      ...moneyColumn<MarginGroup>({
        key: 'uncharged',
        header: 'Uncharged',
        amountOf: (row) => knownAmounts(row).uncharged,
        style: 'total',
      }),
      isWide: true,
    },
    {
      key: 'margin',
      header: 'Margin',
      align: 'right',
      isSortable: true,
      cell: (row) => (
        <span className={isLoss(row) ? 'text-bad' : undefined}>
          <MarginWithShare figures={row} />
        </span>
      ),
    },
    {
      key: 'share',
      header: 'Margin %',
      align: 'right',
      isWide: true,
      cell: (row) => (
        <span className={isLoss(row) ? 'text-bad' : undefined}>{formatMarginShare(row) ?? <Dash />}</span>
      ),
    },
    {
      key: 'unknown',
      header: 'Unknown',
      align: 'right',
      isWide: true,
      cell: (row) => unknownCount(row) ?? <Dash />,
    },
  ];
}

/** On a narrow screen the share has no column of its own. */
function MarginWithShare({ figures }: Readonly<{ figures: MarginFigures }>) {
  const share = formatMarginShare(figures);
  return (
    <>
      <Money amount={knownAmounts(figures).margin} isTotal />
      {share !== null && <span className="ml-1.5 md:hidden">{share}</span>}
    </>
  );
}

function isLoss({ margin }: Pick<MarginFigures, 'margin'>): boolean {
  return signOfMoney(margin) < 0;
}

function GroupName({ row, by }: Readonly<{ row: MarginGroup; by: Margins['by'] }>) {
  if (row.isOthers) return <span className="text-ink-soft">{row.name}</span>;
  const name = by === 'day' ? formatDay(row.name, true) : row.name;
  return name === '' ? (
    <span className="text-ink-soft">Not recorded</span>
  ) : (
    <span className="font-medium">
      {by === 'day' || by === 'price_group' ? (
        name
      ) : (
        <Link {...linkOf(by, row.id)} className={nameLinkClass}>
          {name}
        </Link>
      )}
    </span>
  );
}

function linkOf(by: 'account' | 'model' | 'provider', id: string) {
  if (by === 'account') return accountLink(id);
  return by === 'provider' ? providerLink(id) : requestsWith({ model: id }, 'operator');
}

/** Requests and attempts whose cost is unknown. */
function unknownCount(figures: MarginFigures): string | null {
  const count = figures.unpriced_requests + figures.unknown_attempts;
  return count === 0 ? null : formatCount(count);
}

function footerOf(totals: MarginFigures) {
  const { cost, uncharged } = knownAmounts(totals);
  return [
    'Total',
    formatCount(totals.requests),
    <Money key="revenue" amount={totals.revenue} isTotal />,
    <Money key="cost" amount={cost} isTotal />,
    <Money key="uncharged" amount={uncharged} isTotal />,
    <MarginWithShare key="margin" figures={totals} />,
    formatMarginShare(totals) ?? <Dash key="share" />,
    unknownCount(totals) ?? <Dash key="unknown" />,
  ];
}
