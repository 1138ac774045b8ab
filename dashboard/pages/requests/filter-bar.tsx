/** The filters as chips. On a narrow screen they are in a sheet. */
import { ListFilter, Plus, X } from 'lucide-react';
import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { useReplaceSearch } from '../../address.ts';
import { Button, IconButton } from '../../kit/button.tsx';
import { classNames } from '../../kit/class-names.ts';
import { FilterEditor } from './filter-editor.tsx';
import { describeFilter } from './filters.ts';
import { type Filter, type View, withFilter, withoutFilter, withoutFilters } from './view.ts';

type FilterBarProps = Readonly<{
  view: View;
  /** Of keys and accounts, by ID. */
  names: ReadonlyMap<string, string>;
  /** The filter that the gateway does not accept. */
  wrong: string | null;
}>;

/** Where the focus is once a filter was added. */
export const addFilterSelector = '[data-part="add-filter"]';

export function FilterBar(props: FilterBarProps) {
  const { view } = props;
  const [isSheetOpen, setSheetOpen] = useState(false);
  const count = view.filters.length;
  return (
    <>
      <div className="flex flex-wrap items-center gap-1.5 max-md:hidden">
        <EditableChips {...props} />
      </div>
      <div className="md:hidden">
        <Button
          data-part="add-filter"
          size="small"
          icon={ListFilter}
          aria-haspopup="dialog"
          onClick={() => setSheetOpen(true)}
        >
          {count === 0 ? 'Filters' : `Filters (${count})`}
        </Button>
      </div>
      {isSheetOpen && <Sheet {...props} onClose={() => setSheetOpen(false)} />}
    </>
  );
}

/** What is being edited: a filter by its name, or null for the list of them. */
type Editing = Readonly<{ name: string | null; anchor: HTMLElement }>;

function EditableChips({ view, names, wrong }: FilterBarProps) {
  const replace = useReplaceSearch();
  const [editing, setEditing] = useState<Editing | null>(null);
  const addRef = useRef<HTMLButtonElement>(null);
  const { filters } = view;
  return (
    <>
      <Chips
        filters={filters}
        names={names}
        wrong={wrong}
        onEdit={(name, anchor) => setEditing({ name, anchor })}
        onRemove={() => addRef.current?.focus()}
      />
      <Button
        ref={addRef}
        data-part="add-filter"
        size="small"
        variant="quiet"
        icon={Plus}
        // Alone, its text starts where that of the page does.
        className={filters.length === 0 ? '-ml-2' : undefined}
        aria-haspopup="dialog"
        aria-expanded={editing !== null && editing.name === null}
        onClick={(event) => setEditing({ name: null, anchor: event.currentTarget })}
      >
        Add filter
      </Button>
      {filters.length > 1 && (
        <Button
          size="small"
          variant="quiet"
          onClick={() => {
            addRef.current?.focus();
            replace((before) => withoutFilters(before, filters));
          }}
        >
          Clear filters
        </Button>
      )}
      {editing !== null && (
        <Popover anchor={editing.anchor} onClose={() => setEditing(null)}>
          <FilterEditor
            view={view}
            name={editing.name}
            onChoose={(name) => setEditing({ ...editing, name })}
            onApply={(filter) => {
              setEditing(null);
              replace((before) => withFilter(before, filter));
            }}
          />
        </Popover>
      )}
    </>
  );
}

type ChipsProps = Pick<FilterBarProps, 'names' | 'wrong'> &
  Readonly<{
    filters: readonly Filter[];
    onEdit: (name: string, anchor: HTMLElement) => void;
    /** Moves the focus, which is on what is removed. */
    onRemove: () => void;
  }>;

function Chips({ filters, names, wrong, onEdit, onRemove }: ChipsProps) {
  const replace = useReplaceSearch();
  if (filters.length === 0) return null;
  return (
    <ul aria-label="Filters" className="contents">
      {filters.map((filter) => {
        const { label, text } = describeFilter(filter, names);
        const isWrong = filter.name === wrong;
        return (
          <li
            key={filter.name}
            className={classNames(
              'inline-flex h-7 max-w-full items-center rounded-md border bg-surface text-xs',
              isWrong ? 'border-bad text-bad' : 'border-line text-ink',
            )}
          >
            <button
              type="button"
              onClick={(event) => onEdit(filter.name, event.currentTarget)}
              className="h-full min-w-0 truncate rounded-l-md pr-1 pl-2 hover:bg-hover"
            >
              <span className={isWrong ? '' : 'text-ink-faint'}>{label}:</span>{' '}
              <bdi className="font-medium">{text}</bdi>
            </button>
            <button
              type="button"
              aria-label={`Remove the filter ${label}`}
              onClick={() => {
                onRemove();
                replace((before) => withoutFilter(before, filter.name));
              }}
              className="grid h-full w-6 shrink-0 place-items-center rounded-r-md text-ink-faint hover:bg-hover hover:text-ink"
            >
              <X aria-hidden className="size-3" />
            </button>
          </li>
        );
      })}
    </ul>
  );
}

type PopoverProps = Readonly<{ anchor: HTMLElement; onClose: () => void; children: ReactNode }>;

const gap = 4;

/** The browser's own, which closes with Escape or a click elsewhere. The focus returns to where it was. */
function Popover({ anchor, onClose, children }: PopoverProps) {
  const ref = useRef<HTMLDivElement>(null);
  const latest = useRef(onClose);
  useEffect(() => {
    latest.current = onClose;
  });
  useLayoutEffect(() => {
    const popover = ref.current;
    if (popover === null) return undefined;
    const { left, bottom } = anchor.getBoundingClientRect();
    const maxLeft = document.documentElement.clientWidth - popoverWidth - gap;
    Object.assign(popover.style, {
      left: `${Math.max(gap, Math.min(left, maxLeft))}px`,
      top: `${bottom + gap}px`,
      maxHeight: `calc(100dvh - ${bottom + 4 * gap}px)`,
    });
    popover.showPopover();
    const close = (event: Event) => {
      if ((event as ToggleEvent).newState === 'closed') latest.current();
    };
    popover.addEventListener('toggle', close);
    return () => {
      popover.removeEventListener('toggle', close);
      if (popover.matches(':popover-open')) popover.hidePopover();
    };
  }, [anchor]);
  return (
    <div
      ref={ref}
      popover="auto"
      role="dialog"
      aria-label="Filter"
      style={{ width: popoverWidth }}
      className="fixed inset-auto m-0 overflow-y-auto rounded-lg bg-raised p-1 text-ink shadow-float"
    >
      {children}
    </div>
  );
}

const popoverWidth = 288;

function Sheet({ view, names, wrong, onClose }: FilterBarProps & Readonly<{ onClose: () => void }>) {
  const replace = useReplaceSearch();
  const ref = useRef<HTMLDialogElement>(null);
  const [name, setName] = useState<string | null>(null);
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      aria-label="Filters"
      onClose={() => {
        if (ref.current !== null) onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
      className="mx-0 mt-auto mb-0 max-h-[85dvh] w-full max-w-none overflow-y-auto rounded-t-xl bg-raised p-0 text-ink shadow-float"
    >
      <div className="flex items-center justify-between border-b border-line py-2 pr-2 pl-4">
        <h2 className="font-semibold">Filters</h2>
        <IconButton icon={X} label="Close" onClick={onClose} />
      </div>
      <div className="space-y-3 p-3">
        {view.filters.length > 0 && (
          <div className="flex flex-wrap gap-1.5">
            <Chips
              filters={view.filters}
              names={names}
              wrong={wrong}
              onEdit={setName}
              onRemove={() => ref.current?.querySelector('button')?.focus()}
            />
          </div>
        )}
        <FilterEditor
          view={view}
          name={name}
          onChoose={setName}
          onApply={(filter) => {
            replace((before) => withFilter(before, filter));
            onClose();
          }}
        />
      </div>
    </dialog>
  );
}
