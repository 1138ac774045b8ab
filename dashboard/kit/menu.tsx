/**
 * A button with a menu, on the browser's own popover: it is above everything, dialogs included, and closes by itself
 * when the focus moves elsewhere.
 */
import { Link, type LinkProps } from '@tanstack/react-router';
import { Check, type LucideIcon } from 'lucide-react';
import {
  type ButtonHTMLAttributes,
  type CSSProperties,
  cloneElement,
  type KeyboardEvent,
  type PointerEvent,
  type ReactElement,
  type ReactNode,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react';
import { classNames } from './class-names.ts';

type MenuProps = Readonly<{
  /** One button, such as an `IconButton`. */
  trigger: ReactElement<ButtonHTMLAttributes<HTMLButtonElement>>;
  align?: 'start' | 'end';
  side?: 'top' | 'bottom';
  children: ReactNode;
}>;

export function Menu({ trigger, align = 'end', side = 'bottom', children }: MenuProps) {
  const id = useId();
  const triggerId = `${id}-trigger`;
  const ref = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const [place, setPlace] = useState<CSSProperties | null>(null);

  useEffect(() => {
    const menu = ref.current;
    const button = document.getElementById(triggerId);
    if (!isOpen || menu === null || button === null) return undefined;
    setPlace(placeNextTo(button.getBoundingClientRect(), menu.getBoundingClientRect(), { align, side }));
    // Scrolling or resizing would detach it from its button.
    const close = (event: Event) => {
      if (!(event.target instanceof Node && menu.contains(event.target))) menu.hidePopover();
    };
    window.addEventListener('scroll', close, true);
    window.addEventListener('resize', close);
    return () => {
      window.removeEventListener('scroll', close, true);
      window.removeEventListener('resize', close);
      setPlace(null);
    };
  }, [isOpen, triggerId, align, side]);
  useEffect(() => {
    // The menu is hidden until it has its position, and hidden items cannot take the focus.
    if (place !== null) itemAt(ref.current, 'first')?.focus();
  }, [place]);

  return (
    <>
      {cloneElement(trigger, {
        id: triggerId,
        popoverTarget: id,
        'aria-haspopup': 'menu',
        'aria-expanded': isOpen,
      })}
      <div
        ref={ref}
        id={id}
        popover="auto"
        role="menu"
        tabIndex={-1}
        aria-labelledby={triggerId}
        onToggle={(event) => setOpen(event.newState === 'open')}
        onKeyDown={moveWithin}
        onPointerMove={highlight}
        onClick={(event) => {
          if (isItem(event.target)) event.currentTarget.hidePopover();
        }}
        style={place ?? { visibility: 'hidden' }}
        className="fixed inset-auto m-0 max-h-[70dvh] min-w-44 max-w-[calc(100vw-1rem)] overflow-y-auto rounded-lg bg-raised p-1 text-sm text-ink shadow-float outline-none"
      >
        {isOpen && children}
      </div>
    </>
  );
}

function isItem(target: EventTarget): boolean {
  return target instanceof Element && target.closest('[role^="menuitem"]') !== null;
}

function moveWithin(event: KeyboardEvent<HTMLDivElement>): void {
  const menu = event.currentTarget;
  const goals = { ArrowDown: 'next', ArrowUp: 'previous', Home: 'first', End: 'last' } as const;
  const goal = Object.entries(goals).find(([key]) => key === event.key)?.[1];
  if (goal !== undefined) {
    event.preventDefault();
    itemAt(menu, goal)?.focus();
  } else if (event.key === 'Tab') {
    menu.hidePopover();
  } else if (/^\S$/.test(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey) {
    itemStartingWith(menu, event.key)?.focus();
  }
}

/** The pointer moves the focus, so that only one item is highlighted. */
function highlight(event: PointerEvent<HTMLDivElement>): void {
  const item = itemsOf(event.currentTarget).find(
    (candidate) => event.target instanceof Node && candidate.contains(event.target),
  );
  if (item !== undefined && item !== document.activeElement) item.focus({ preventScroll: true });
}

const itemClass =
  'flex w-full items-center gap-2.5 rounded-md px-2.5 py-1.5 text-left outline-none select-none disabled:opacity-50 focus:bg-hover';

type ItemLooks = Readonly<{ icon: LucideIcon; children: ReactNode }>;

type MenuItemProps = ItemLooks &
  Readonly<{ onSelect: () => unknown; isDangerous?: boolean; isDisabled?: boolean }>;

export function MenuItem({
  icon: Icon,
  onSelect,
  isDangerous = false,
  isDisabled = false,
  children,
}: MenuItemProps) {
  return (
    <button
      type="button"
      role="menuitem"
      tabIndex={-1}
      disabled={isDisabled}
      onClick={() => onSelect()}
      className={classNames(itemClass, isDangerous && 'text-bad')}
    >
      <Icon aria-hidden className={classNames('size-4 shrink-0', !isDangerous && 'text-ink-faint')} />
      {children}
    </button>
  );
}

export function MenuLink({
  icon: Icon,
  children,
  ...link
}: ItemLooks & Pick<LinkProps, 'to' | 'params' | 'search'>) {
  return (
    <Link {...link} role="menuitem" tabIndex={-1} className={itemClass}>
      <Icon aria-hidden className="size-4 shrink-0 text-ink-faint" />
      {children}
    </Link>
  );
}

/** A link out of the app, to a page that the gateway renders. */
export function MenuAnchor({ icon: Icon, href, children }: ItemLooks & Readonly<{ href: string }>) {
  return (
    <a href={href} role="menuitem" tabIndex={-1} className={itemClass}>
      <Icon aria-hidden className="size-4 shrink-0 text-ink-faint" />
      {children}
    </a>
  );
}

type MenuChoiceProps<Value extends string> = Readonly<{
  label: string;
  value: Value;
  options: readonly Readonly<{ value: Value; label: ReactNode }>[];
  onChange: (value: Value) => void;
}>;

/** One of several options, marked with a tick. */
export function MenuChoice<Value extends string>({
  label,
  value,
  options,
  onChange,
}: MenuChoiceProps<Value>) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a menu cannot contain a fieldset.
    <div role="group" aria-label={label}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          role="menuitemradio"
          tabIndex={-1}
          aria-checked={option.value === value}
          onClick={() => onChange(option.value)}
          className={itemClass}
        >
          <span className="min-w-0 flex-1 truncate">{option.label}</span>
          {option.value === value && <Check aria-hidden className="size-4 text-accent-text" />}
        </button>
      ))}
    </div>
  );
}

export function MenuLabel({ children }: Readonly<{ children: ReactNode }>) {
  return (
    <p role="presentation" className="truncate px-2.5 pt-1.5 pb-1 text-xs text-ink-faint">
      {children}
    </p>
  );
}

export function MenuSeparator() {
  return <hr className="-mx-1 my-1 h-px border-0 bg-line" />;
}

const gap = 6;
const margin = 8;

type Placement = Readonly<{ align: 'start' | 'end'; side: 'top' | 'bottom' }>;
type Box = Readonly<Pick<DOMRect, 'top' | 'bottom' | 'left' | 'right' | 'width' | 'height'>>;

/** Next to its button, on the other side if there is no room, and always within the window. */
function placeNextTo(button: Box, menu: Box, { align, side }: Placement): { top: number; left: number } {
  const above = button.top - gap - menu.height;
  const below = button.bottom + gap;
  const fitsAbove = above >= margin;
  const fitsBelow = below + menu.height <= window.innerHeight - margin;
  const top = (side === 'top' && fitsAbove) || !fitsBelow ? Math.max(margin, above) : below;
  const left = align === 'start' ? button.left : button.right - menu.width;
  const maxLeft = document.documentElement.clientWidth - margin - menu.width;
  return { top, left: Math.max(margin, Math.min(left, maxLeft)) };
}

function itemsOf(menu: HTMLElement | null): HTMLElement[] {
  return [...(menu?.querySelectorAll<HTMLElement>('[role^="menuitem"]:not(:disabled)') ?? [])];
}

function itemAt(
  menu: HTMLElement | null,
  goal: 'first' | 'last' | 'next' | 'previous',
): HTMLElement | undefined {
  const items = itemsOf(menu);
  const at = items.indexOf(document.activeElement as HTMLElement);
  if (goal === 'first') return items[0];
  if (goal === 'last') return items.at(-1);
  if (goal === 'next') return items[(at + 1) % items.length];
  return items.at(at <= 0 ? -1 : at - 1);
}

/** The next item whose text starts with the letter, wrapping around from the focused one. */
function itemStartingWith(menu: HTMLElement, letter: string): HTMLElement | undefined {
  const items = itemsOf(menu);
  const at = items.indexOf(document.activeElement as HTMLElement);
  const inOrder = [...items.slice(at + 1), ...items.slice(0, at + 1)];
  return inOrder.find((item) => item.textContent?.trim().toLowerCase().startsWith(letter.toLowerCase()));
}
