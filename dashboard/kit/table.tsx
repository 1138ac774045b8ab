/**
 * A table described by its columns. On a narrow screen each row becomes a block, with the column header before each
 * value.
 */
import { Link, type LinkProps } from '@tanstack/react-router';
import {
  type FocusEvent,
  Fragment,
  type MouseEvent as ReactMouseEvent,
  type ReactNode,
  useEffect,
  useLayoutEffect,
  useRef,
} from 'react';
import { type AmountStyle, decimalsOf } from './amounts.ts';
import { classNames } from './class-names.ts';
import { ColumnDecimals, Money } from './figures.tsx';
import { keepFocus } from './keep-focus.ts';
import { Skeleton } from './states.tsx';

/** Explicit roles, because some browsers drop the table semantics when CSS changes the display type. */
const roles = {
  table: { role: 'table' },
  group: { role: 'rowgroup' },
  row: { role: 'row' },
  header: { role: 'columnheader' },
  cell: { role: 'cell' },
} as const;

export type Column<Row> = Readonly<{
  key: string;
  header: ReactNode;
  cell: (row: Row) => ReactNode;
  align?: 'left' | 'right';
  /** Such as `w-32`. */
  width?: string;
  /** On a narrow screen, a full line without its header: the name of the row, or its buttons. */
  isBare?: boolean;
  /** On a narrow screen, in the upper corner: a small button such as that of a menu. */
  isCorner?: boolean;
  /** Prose, which may take several lines. Everything else stays on one. */
  isWrapping?: boolean;
  /** Hidden if there is not enough room. */
  isOptional?: boolean;
  /** Hidden on a narrow screen, where another column says the same, or the page of the row does. */
  isWide?: boolean;
  /** Its header sorts, where the table can be sorted. */
  isSortable?: boolean;
  /** For a column of money: exact amounts get the same number of decimals. */
  amounts?: Readonly<{ of: (row: Row) => string | null; style: AmountStyle }>;
}>;

type MoneyColumn<Row> = Pick<Column<Row>, 'isSortable' | 'key' | 'header' | 'width'> &
  Readonly<{ amountOf: (row: Row) => string | null; style?: AmountStyle; className?: string }>;

export function moneyColumn<Row>({
  amountOf,
  style = 'short',
  className,
  ...column
}: MoneyColumn<Row>): Column<Row> {
  const looks = {
    isExact: style === 'exact',
    isTotal: style === 'total',
    isBalance: style === 'balance',
    className,
  };
  return {
    ...column,
    align: 'right',
    amounts: { of: amountOf, style },
    cell: (row) => <Money amount={amountOf(row)} {...looks} />,
  };
}

function columnDecimals<Row>({ amounts }: Column<Row>, rows: readonly Row[]): number | undefined {
  if (amounts?.style !== 'exact') return undefined;
  const known = rows.map(amounts.of).filter((amount) => amount !== null);
  return decimalsOf(known, amounts.style);
}

/** A code or an ID that breaks only after its separators, so that no column squeezes it letter by letter. */
export function BreakableCode({ children, className }: Readonly<{ children: string; className?: string }>) {
  return (
    <code className={classNames('font-mono text-xs wrap-break-word', className)}>
      {children.split(/(?<=[_/:.-])/).map((part, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text never move.
        <Fragment key={at}>
          {at > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </code>
  );
}

/** The last column, with the menu of each row. */
export function actionsColumn<Row>(cell: Column<Row>['cell']): Column<Row> {
  return {
    key: 'actions',
    header: <span className="sr-only">Actions</span>,
    align: 'right',
    isCorner: true,
    width: 'w-10',
    cell,
  };
}

/** By which column the rows are sorted. `onSort` gets the key of the column whose header was pressed. */
export type Sorting = Readonly<{ key: string; isDown: boolean; onSort: (key: string) => void }>;

export type TableProps<Row> = Readonly<{
  /** What the table shows, as an accessible name. */
  caption: string;
  columns: readonly Column<Row>[];
  /** Undefined while they are being loaded; `expectedRows` placeholders reserve the space. */
  rows: readonly Row[] | undefined;
  rowKey: (row: Row) => string;
  /** Makes the whole row a link. The first column becomes its text. */
  rowLink?: (row: Row) => Pick<LinkProps, 'to' | 'params' | 'search'>;
  expectedRows?: number;
  /** Shown if there are no rows. */
  empty?: ReactNode;
  /** The totals, one per column. */
  footer?: readonly ReactNode[];
  sorting?: Sorting;
  isDimmed?: boolean;
}>;

export function Table<Row>(props: TableProps<Row>) {
  const {
    caption,
    columns,
    rows,
    rowKey,
    rowLink,
    expectedRows = 5,
    empty,
    footer,
    sorting,
    isDimmed = false,
  } = props;
  const rememberFocus = useFocusOfRow();
  if (rows !== undefined && rows.length === 0 && empty !== undefined) return empty;
  const decimals = columns.map((column) => columnDecimals(column, rows ?? []));
  return (
    // Where the table cannot overflow sideways, its header sticks to the window.
    <div className="md:max-lg:overflow-x-auto">
      <table
        {...roles.table}
        onFocus={rememberFocus}
        aria-label={caption}
        aria-busy={rows === undefined || undefined}
        className={classNames(
          'w-full border-separate border-spacing-0 text-left text-xs transition-opacity max-md:block',
          isDimmed && 'opacity-60',
        )}
      >
        <TableHead columns={columns} sorting={sorting} />
        <tbody {...roles.group} className="max-md:block">
          {rows === undefined
            ? Array.from({ length: expectedRows }, (_, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: the rows are identical and never move.
                <SkeletonRow key={at} columns={columns} />
              ))
            : rows.map((row) => (
                <TableRow
                  key={rowKey(row)}
                  row={row}
                  columns={columns}
                  decimals={decimals}
                  link={rowLink === undefined ? null : rowLink(row)}
                />
              ))}
        </tbody>
        {footer !== undefined && rows !== undefined && (
          <TableFoot columns={columns} decimals={decimals} cells={footer} />
        )}
      </table>
    </div>
  );
}

/**
 * When the row that has the focus is removed, the focus goes to the row that takes its place: before the dialog in which it was
 * removed gives the focus back, which leaves it where it is then.
 */
function useFocusOfRow(): (event: FocusEvent<HTMLTableElement>) => void {
  const last = useRef<Readonly<{ table: HTMLElement; element: Element; at: number }> | null>(null);
  useLayoutEffect(() => {
    if (last.current === null || last.current.element.isConnected) return;
    const { table, at } = last.current;
    last.current = null;
    const rows = [...table.querySelectorAll('tbody tr')];
    const row = table.isConnected ? rows[Math.min(at, rows.length - 1)] : undefined;
    keepFocus(row?.querySelector<HTMLElement>('a, button') ?? null);
  });
  // With its last row the whole table may go away.
  useEffect(
    () => () => {
      if (last.current !== null) keepFocus();
    },
    [],
  );
  return ({ currentTarget: table, target: element }) => {
    last.current = { table, element, at: element.closest('tr')?.sectionRowIndex ?? 0 };
  };
}

type TableHeadProps<Row> = Readonly<{ columns: readonly Column<Row>[]; sorting: Sorting | undefined }>;

function TableHead<Row>({ columns, sorting }: TableHeadProps<Row>) {
  return (
    // On a narrow screen it is for screen readers, and for whoever sorts by keyboard.
    <thead {...roles.group} className="max-md:not-focus-within:sr-only max-md:focus-within:block">
      <tr
        {...roles.row}
        className="max-md:focus-within:flex max-md:flex-wrap max-md:border-b max-md:border-line"
      >
        {columns.map((column) => (
          <th
            key={column.key}
            {...roles.header}
            scope="col"
            aria-sort={
              sorting?.key === column.key ? (sorting.isDown ? 'descending' : 'ascending') : undefined
            }
            className={classNames(
              'sticky top-0 z-10 h-8 border-b border-line bg-canvas px-2 text-xs font-normal whitespace-nowrap text-ink-faint first:pl-0 last:pr-0 max-lg:static max-md:border-b-0 max-md:content-center in-[dialog]:static in-[dialog]:bg-transparent',
              column.align === 'right' && 'text-right',
              column.isWide && 'max-md:hidden',
              column.isOptional && 'md:max-xl:hidden',
              column.width,
            )}
          >
            {sorting !== undefined && column.isSortable ? (
              <SortButton column={column} sorting={sorting} />
            ) : (
              column.header
            )}
          </th>
        ))}
      </tr>
    </thead>
  );
}

function SortButton<Row>({ column, sorting }: Readonly<{ column: Column<Row>; sorting: Sorting }>) {
  const isSorted = sorting.key === column.key;
  return (
    <button
      type="button"
      onClick={() => sorting.onSort(column.key)}
      className={classNames('rounded hover:text-ink', isSorted && 'font-medium text-ink')}
    >
      {column.header}
      <span aria-hidden>{isSorted ? (sorting.isDown ? ' ↓' : ' ↑') : ''}</span>
    </button>
  );
}

const rowClass =
  'group/row border-line transition-colors max-md:relative max-md:border-b max-md:last:border-b-0 md:h-8';
/** Its name on a line, and its figures next to each other on the next. */
const blockClass = 'max-md:flex max-md:flex-wrap max-md:gap-x-4 max-md:py-2';

type TableRowProps<Row> = Readonly<{
  row: Row;
  columns: readonly Column<Row>[];
  /** By column. */
  decimals: readonly (number | undefined)[];
  link: Pick<LinkProps, 'to' | 'params' | 'search'> | null;
}>;

function TableRow<Row>({ row, columns, decimals, link }: TableRowProps<Row>) {
  const hasCorner = columns.some(({ isCorner }) => isCorner);
  return (
    // Keyboard users have the link in the first cell.
    <tr
      {...roles.row}
      onClick={link === null ? undefined : followLink}
      className={classNames(
        rowClass,
        blockClass,
        link !== null && 'linked cursor-pointer hover:bg-hover/70 has-[a:focus-visible]:bg-hover/70',
      )}
    >
      {columns.map((column, at) => (
        <Cell key={column.key} column={column} decimals={decimals[at]} hasCorner={hasCorner}>
          {at === 0 && link !== null ? (
            <Link {...link} className="rounded font-medium text-ink hover:underline hover:underline-offset-2">
              {column.cell(row)}
            </Link>
          ) : (
            column.cell(row)
          )}
        </Cell>
      ))}
    </tr>
  );
}

type TableFootProps<Row> = Pick<TableRowProps<Row>, 'columns' | 'decimals'> &
  Readonly<{ cells: readonly ReactNode[] }>;

function TableFoot<Row>({ columns, decimals, cells }: TableFootProps<Row>) {
  return (
    <tfoot {...roles.group} className="max-md:block md:[&_td]:border-t md:[&_td]:border-line">
      <tr
        {...roles.row}
        className={classNames('group/row font-medium max-md:border-t max-md:border-line md:h-8', blockClass)}
      >
        {columns.map((column, at) =>
          cells[at] === undefined || cells[at] === null ? (
            // An empty cell keeps the others aligned with their headers for screen readers.
            <td
              key={column.key}
              {...roles.cell}
              className={classNames(
                'border-line max-md:sr-only md:border-b',
                column.isOptional && 'md:max-xl:hidden',
              )}
            />
          ) : (
            <Cell key={column.key} column={column} decimals={decimals[at]}>
              {cells[at]}
            </Cell>
          ),
        )}
      </tr>
    </tfoot>
  );
}

/** A click anywhere in the row follows its link, with the same modifier keys, unless it was on another control. */
function followLink(event: ReactMouseEvent<HTMLTableRowElement>): void {
  const isOnControl =
    event.target instanceof Element &&
    event.target.closest('a, button, input, select, label, [role="menu"]') !== null;
  const isSelecting = (getSelection()?.toString() ?? '') !== '';
  if (isOnControl || isSelecting) return;
  const { ctrlKey, metaKey, shiftKey, altKey } = event;
  const press = new MouseEvent('click', {
    bubbles: true,
    cancelable: true,
    ctrlKey,
    metaKey,
    shiftKey,
    altKey,
  });
  event.currentTarget.querySelector('a')?.dispatchEvent(press);
}

/** The rules of a table end where its text does; what marks a row goes a little further. */
const bleedClass =
  'md:group-[.linked:hover]/row:first:shadow-[-0.5rem_0_0_--alpha(var(--color-hover)/70%)] md:group-[.linked:hover]/row:last:shadow-[0.5rem_0_0_--alpha(var(--color-hover)/70%)]';

type CellProps<Row> = Readonly<{
  column: Column<Row>;
  decimals?: number | undefined;
  /** Whether there is a button next to the name of the row, on a narrow screen. */
  hasCorner?: boolean;
  children: ReactNode;
}>;

function Cell<Row>({ column, decimals, hasCorner = false, children }: CellProps<Row>) {
  const { align, isBare = false, isCorner = false, isOptional = false, isWrapping = false } = column;
  const { isWide = false } = column;
  const isNamed = !isBare && !isCorner;
  // Where there is little room, the name of the row gives way, so that no row breaks and no table is too wide.
  const isGiving = isBare && column.width === undefined && !isWrapping;
  return (
    <td
      {...roles.cell}
      data-inline={isNamed || undefined}
      className={classNames(
        'border-line px-2 py-0.5 align-middle first:pl-0 last:pr-0 md:border-b',
        bleedClass,
        !isWrapping && 'md:whitespace-nowrap',
        'max-md:px-0 max-md:py-0',
        align === 'right' && 'md:text-right',
        isWide && 'max-md:hidden',
        isOptional && 'md:max-xl:hidden',
        isBare && 'max-md:block',
        isBare && hasCorner && 'max-md:pr-20',
        (isBare || isWrapping) && 'max-md:basis-full',
        isWrapping && 'md:min-w-40 md:py-1.5',
        isGiving && 'md:max-xl:w-full md:max-xl:max-w-0 md:max-xl:min-w-32',
        isCorner && 'max-md:absolute max-md:top-2 max-md:right-0',
        isNamed && 'max-md:block max-md:min-w-0',
      )}
    >
      {isNamed && !isWrapping && (
        <span aria-hidden className="mr-1.5 text-2xs text-ink-faint md:hidden">
          {column.header}
        </span>
      )}
      <span
        className={classNames(
          'min-w-0 wrap-anywhere',
          !isWrapping && 'md:wrap-normal',
          isGiving && 'md:max-xl:block md:max-xl:overflow-hidden md:max-xl:text-ellipsis',
        )}
      >
        <ColumnDecimals value={decimals}>{children}</ColumnDecimals>
      </span>
    </td>
  );
}

function SkeletonRow<Row>({ columns }: Pick<TableRowProps<Row>, 'columns'>) {
  return (
    <tr {...roles.row} className={classNames(rowClass, blockClass)}>
      {columns.map((column) => (
        <Cell key={column.key} column={column}>
          <Skeleton
            className={classNames('inline-block h-3.5 w-20 max-w-full align-middle', column.isBare && 'w-36')}
          />
        </Cell>
      ))}
    </tr>
  );
}
