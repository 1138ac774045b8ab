/**
 * The list of requests: a line each, two on a narrow screen. The first link of a row opens it; a click on another cell filters by
 * its value. The arrow keys move from row to row, and within a row from cell to cell.
 */
import { Link } from '@tanstack/react-router';
import type { KeyboardEvent, MouseEvent as ReactMouseEvent, ReactNode } from 'react';
import type { RequestRow, RequestStatus } from '../../../src/console/request-contract.ts';
import { type Search, useReplaceSearch } from '../../address.ts';
import { formatMoney, formatMoneyExactly } from '../../kit/amounts.ts';
import { classNames } from '../../kit/class-names.ts';
import { Dash } from '../../kit/figures.tsx';
import { formatCount, formatDuration, formatTime, formatUtc } from '../../kit/format-figures.ts';
import { ModelMark } from '../../kit/model-mark.tsx';
import { Skeleton } from '../../kit/states.tsx';
import { labelOfStatus } from './filters.ts';
import { useScope } from './scope.ts';
import { withFilter } from './view.ts';

type RowsProps = Readonly<{
  rows: readonly RequestRow[] | undefined;
  /** The one in the panel. */
  selected: string | null;
  isUtc: boolean;
  isDimmed: boolean;
  /** Whether they are of one account, which then has no column. */
  isOfOneAccount: boolean;
}>;

/** Explicit roles, because some browsers drop the table semantics when CSS changes the display type. */
const roles = {
  table: { role: 'table' },
  group: { role: 'rowgroup' },
  row: { role: 'row' },
  header: { role: 'columnheader' },
  cell: { role: 'cell' },
} as const;

const expectedRows = 12;

export function Rows({ rows, selected, isUtc, isDimmed, isOfOneAccount }: RowsProps) {
  const hasAccounts = useScope().isOperator && !isOfOneAccount;
  const maxMs = Math.max(1, ...(rows ?? []).map(({ duration_ms: ms }) => ms ?? 0));
  return (
    <table
      {...roles.table}
      aria-label="Requests"
      aria-busy={rows === undefined || undefined}
      onKeyDown={moveWithin}
      className={classNames(
        'w-full table-fixed border-separate border-spacing-0 text-left text-xs transition-opacity max-md:block',
        isDimmed && 'opacity-60',
      )}
    >
      <thead {...roles.group} className="max-md:sr-only">
        <tr {...roles.row}>
          {columnsFor(hasAccounts).map(({ name, className }) => (
            <th
              key={name}
              {...roles.header}
              scope="col"
              className={classNames(
                'h-8 border-b border-line px-2 font-normal whitespace-nowrap text-ink-faint first:pl-0 last:pr-0',
                className,
              )}
            >
              {name === 'State' ? <span className="sr-only">{name}</span> : name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody {...roles.group} className="max-md:block">
        {rows === undefined
          ? Array.from({ length: expectedRows }, (_, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the rows are identical and never move.
              <tr key={at} {...roles.row} className="h-8 max-md:block">
                {columnsFor(hasAccounts).map(({ name, className }) => (
                  <td
                    key={name}
                    {...roles.cell}
                    className={classNames(
                      'px-2 first:pl-0 last:pr-0 max-md:not-first:hidden max-md:block max-md:w-full max-md:pr-0',
                      className,
                    )}
                  >
                    <Skeleton className="h-3.5 w-full" />
                  </td>
                ))}
              </tr>
            ))
          : rows.map((row) => (
              <Row
                key={row.id}
                row={row}
                isSelected={row.id === selected}
                isUtc={isUtc}
                maxMs={maxMs}
                hasAccounts={hasAccounts}
              />
            ))}
      </tbody>
    </table>
  );
}

type ColumnHead = Readonly<{ name: string; className?: string }>;

const stateColumn: ColumnHead = { name: 'State', className: 'w-5' };
const timeColumn: ColumnHead = { name: 'Time', className: 'w-28 xl:w-32' };
const modelColumn: ColumnHead = { name: 'Model' };
const accountColumn: ColumnHead = { name: 'Account', className: 'w-28 xl:w-40' };
const keyColumn: ColumnHead = { name: 'Key', className: 'w-28 xl:w-40' };
const providerColumn: ColumnHead = { name: 'Provider', className: 'w-44 max-xl:hidden' };
const figureColumns: readonly ColumnHead[] = [
  { name: 'Tokens', className: 'w-16 text-right' },
  { name: 'Cost', className: 'w-24 text-right' },
  { name: 'Duration', className: 'w-18 text-right xl:w-36' },
];

/** Operators know accounts; where there is no room for both, the key is only in the panel. */
const secondaryKeyClass = 'max-2xl:hidden';

function columnsFor(hasAccounts: boolean): readonly ColumnHead[] {
  const key = hasAccounts ? { name: 'Key', className: classNames('w-28', secondaryKeyClass) } : keyColumn;
  return [
    stateColumn,
    timeColumn,
    modelColumn,
    ...(hasAccounts ? [accountColumn] : []),
    key,
    providerColumn,
    ...figureColumns,
  ];
}

type RowProps = Readonly<{
  row: RequestRow;
  isSelected: boolean;
  isUtc: boolean;
  maxMs: number;
  hasAccounts: boolean;
}>;

function Row({ row, isSelected, isUtc, maxMs, hasAccounts }: RowProps) {
  return (
    // Keyboard users have the link in it.
    <tr
      {...roles.row}
      data-request={row.id}
      onClick={openRow}
      className={classNames(
        'group/row h-8 cursor-pointer',
        'max-md:grid max-md:h-auto max-md:grid-cols-[1rem_minmax(0,1fr)_auto] max-md:items-center max-md:border-b max-md:border-line max-md:py-1.5',
        isSelected ? 'selected bg-hover' : 'hover:bg-hover/60 has-[a:focus-visible]:bg-hover/60',
      )}
    >
      <Cell className="pr-0 max-md:col-start-1 max-md:row-start-1">
        <FilterCell name="status" value={row.status} label={labelOfStatus(row.status)}>
          <StateDot status={row.status} />
        </FilterCell>
      </Cell>
      <Cell className="whitespace-nowrap max-md:col-start-2 max-md:row-start-2 max-md:truncate">
        <OpenLink row={row} isUtc={isUtc} isSelected={isSelected} />
        <span className="text-ink-faint md:hidden"> · {hasAccounts ? row.account?.name : row.key.name}</span>
      </Cell>
      <Cell className="max-md:col-start-2 max-md:row-start-1">
        <ModelAndError row={row} />
      </Cell>
      {hasAccounts && (
        <Cell className="max-md:hidden">
          {row.account !== undefined && (
            <FilterCell name="account" value={row.account.id} label={row.account.name}>
              {row.account.name}
            </FilterCell>
          )}
        </Cell>
      )}
      <Cell className={classNames('max-md:hidden', hasAccounts && secondaryKeyClass)}>
        <FilterCell name="key" value={row.key.id} label={row.key.name}>
          {row.key.name}
        </FilterCell>
      </Cell>
      <Cell className="max-md:hidden max-xl:hidden">
        <Providers row={row} />
      </Cell>
      <Cell className="text-right max-md:hidden">
        <Usage usage={row.usage} />
      </Cell>
      <Cell className="text-right max-md:col-start-3 max-md:row-start-1 max-md:pr-0">
        <Cost cost={row.cost} />
      </Cell>
      <Cell className="max-md:col-start-3 max-md:row-start-2">
        <DurationBar row={row} maxMs={maxMs} />
      </Cell>
    </tr>
  );
}

/** The rules end where the text does; what marks a row goes a little further. */
const bleedClass = classNames(
  'md:group-[:hover:not(.selected)]/row:first:shadow-[-0.5rem_0_0_--alpha(var(--color-hover)/60%)]',
  'md:group-[:hover:not(.selected)]/row:last:shadow-[0.5rem_0_0_--alpha(var(--color-hover)/60%)]',
  'md:group-[.selected]/row:first:shadow-[-0.5rem_0_0_var(--color-hover)]',
  'md:group-[.selected]/row:last:shadow-[0.5rem_0_0_var(--color-hover)]',
);

function Cell({ className, children }: Readonly<{ className?: string; children: ReactNode }>) {
  return (
    <td
      {...roles.cell}
      className={classNames(
        'figures min-w-0 border-line px-2 first:pl-0 last:pr-0 md:border-b md:group-last/row:border-b-0 max-md:block max-md:px-1',
        bleedClass,
        className,
      )}
    >
      {children}
    </td>
  );
}

type OpenLinkProps = Readonly<{ row: RequestRow; isUtc: boolean; isSelected: boolean }>;

/** The link of the row. */
function OpenLink({ row, isUtc, isSelected }: OpenLinkProps) {
  const instant = new Date(row.at);
  return (
    <Link
      to="."
      search={(before: Search) => ({ ...before, request: row.id })}
      resetScroll={false}
      data-open
      aria-current={isSelected ? 'true' : undefined}
      activeProps={{}}
      className="rounded whitespace-nowrap text-ink-soft -outline-offset-1 group-hover/row:text-ink"
    >
      <time dateTime={row.at} title={isUtc ? undefined : formatUtc(instant)}>
        {formatTime(instant, 'brief', isUtc ? 'UTC' : undefined)}
      </time>
      <span className="sr-only">, {labelOfStatus(row.status)}</span>
    </Link>
  );
}

type FilterCellProps = Readonly<{
  name: string;
  value: string;
  /** The value in words. */
  label: string;
  className?: string;
  children: ReactNode;
}>;

/** On a narrow screen the whole row opens the request, and filters are in the sheet. */
function FilterCell({ name, value, label, className, children }: FilterCellProps) {
  const replace = useReplaceSearch();
  return (
    <button
      type="button"
      tabIndex={-1}
      title={`Only ${label}`}
      onClick={(event) => {
        event.stopPropagation();
        replace((before) => withFilter(before, { name, value }));
      }}
      className={classNames(
        'max-w-full truncate rounded text-left align-middle hover:underline hover:underline-offset-2 max-md:pointer-events-none',
        className,
      )}
    >
      {children}
    </button>
  );
}

const dots: Readonly<Record<RequestStatus, string>> = {
  in_progress: 'bg-accent-text animate-breathe',
  completed: 'bg-edge/70',
  failed: 'bg-bad-solid',
  cancelled: 'border border-edge',
  refused: 'bg-chart-3',
};

/** Neutral unless something went wrong. The link of the row says it in words. */
function StateDot({ status }: Readonly<{ status: RequestStatus }>) {
  return (
    <span className="grid h-4 w-2 place-items-center">
      <span aria-hidden className={classNames('size-2 rounded-full', dots[status])} />
      <span className="sr-only">{labelOfStatus(status)}</span>
    </span>
  );
}

function ModelAndError({
  row: { model, error_code: code, status, attribution },
}: Readonly<{ row: RequestRow }>) {
  const endUser = attribution?.end_user ?? null;
  return (
    <span className="flex min-w-0 items-center gap-2">
      {model === null ? (
        <Dash />
      ) : (
        <FilterCell
          name="model"
          value={model}
          label={model}
          className={classNames('font-medium', code === null ? 'shrink-0' : 'min-w-0')}
        >
          <ModelMark model={model} />
          {model}
        </FilterCell>
      )}
      {code !== null && (
        <FilterCell
          name="error_code"
          value={code}
          label={code}
          className={classNames(
            // What went wrong is read first: the others give way.
            'max-w-[calc(100%-5.5rem)] shrink-0 font-mono text-2xs',
            status === 'refused' ? 'text-warn' : 'text-bad',
          )}
        >
          {code}
        </FilterCell>
      )}
      {endUser !== null && (
        <FilterCell
          name="end_user"
          value={endUser}
          label={endUser}
          className="min-w-0 shrink-[99] text-ink-faint max-xl:hidden"
        >
          <bdi>{endUser}</bdi>
        </FilterCell>
      )}
    </span>
  );
}

function Providers({ row: { provider, fallback_from: first } }: Readonly<{ row: RequestRow }>) {
  if (provider === null) return <Dash />;
  return (
    <span className="flex min-w-0 items-center gap-1">
      {first !== null && (
        <>
          <FilterCell name="fallback" value="yes" label="those with a fallback" className="min-w-8 text-warn">
            {first}
          </FilterCell>
          <span aria-hidden className="text-ink-faint">
            →
          </span>
          <span className="sr-only">, then</span>
        </>
      )}
      <FilterCell name="provider" value={provider} label={provider} className="min-w-8">
        {provider}
      </FilterCell>
    </span>
  );
}

function Usage({ usage }: Pick<RequestRow, 'usage'>) {
  if (usage === null) return <Dash />;
  if (usage.unit === 'images') return `${formatCount(usage.units)} ${usage.units === 1 ? 'image' : 'images'}`;
  const { input_tokens: input, output_tokens: output, cache_read_tokens: cached } = usage;
  const title = `${formatCount(input)} input${cached > 0 ? `, ${formatCount(cached)} of it from a cache` : ''}, ${formatCount(output)} output`;
  return <span title={title}>{formatCount(input + output)}</span>;
}

/** As short as it can be in an address. */
function withoutZeros(amount: string): string {
  return amount.replace(/\.?0+$/, '') || '0';
}

/** Filters by what cost as much or more. */
function Cost({ cost }: Pick<RequestRow, 'cost'>) {
  if (cost === null) return <Dash />;
  return (
    <FilterCell
      name="min_cost"
      value={withoutZeros(cost)}
      label={`those of at least ${formatMoneyExactly(cost)}`}
    >
      {formatMoney(cost)}
    </FilterCell>
  );
}

function DurationBar({
  row: { duration_ms: ms, status },
  maxMs,
}: Readonly<{ row: RequestRow; maxMs: number }>) {
  if (ms === null)
    return (
      <span className="block text-right">
        <Dash />
      </span>
    );
  return (
    <span className="flex items-center justify-end gap-2">
      <span aria-hidden className="h-1 w-12 overflow-hidden rounded-full bg-hover max-xl:hidden">
        <span
          style={{ width: `${Math.max(2, (ms / maxMs) * 100)}%` }}
          className={classNames(
            'block h-full rounded-full',
            status === 'failed' ? 'bg-bad-solid' : 'bg-edge',
          )}
        />
      </span>
      <FilterCell
        name="min_duration_ms"
        value={`${Math.floor(ms)}`}
        label={`those of at least ${formatDuration(ms)}`}
        className="shrink-0 whitespace-nowrap text-right xl:w-16"
      >
        {formatDuration(ms)}
      </FilterCell>
    </span>
  );
}

/** A click anywhere in the row that is not on another control opens it, with the same modifier keys. */
function openRow(event: ReactMouseEvent<HTMLTableRowElement>): void {
  const isOnControl = event.target instanceof Element && event.target.closest('a, button') !== null;
  if (isOnControl || (getSelection()?.toString() ?? '') !== '') return;
  const { ctrlKey, metaKey, shiftKey } = event;
  event.currentTarget
    .querySelector('a')
    ?.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey }));
}

function moveWithin(event: KeyboardEvent<HTMLTableElement>): void {
  const row = event.target instanceof Element ? event.target.closest('tr') : null;
  if (row === null) return;
  const across = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const down = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (across !== undefined) {
    const stops = [...row.querySelectorAll<HTMLElement>('a, button')].filter(
      (stop) => stop.offsetParent !== null,
    );
    stops
      .at(
        Math.max(
          0,
          Math.min(stops.length - 1, stops.indexOf(document.activeElement as HTMLElement) + across),
        ),
      )
      ?.focus();
  } else if (down !== undefined) {
    const next = down === 1 ? row.nextElementSibling : row.previousElementSibling;
    next?.querySelector<HTMLElement>('[data-open]')?.focus();
  } else return;
  event.preventDefault();
}
