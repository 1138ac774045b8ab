/** Where a menu stands, and which of its items is the next one. */
const gap = 6;
const margin = 8;

type Wish = Readonly<{ align: 'start' | 'end'; side: 'top' | 'bottom' }>;
type Box = Readonly<Pick<DOMRect, 'top' | 'bottom' | 'left' | 'right' | 'width' | 'height'>>;

/** Beside its button as wished, on the other side where there is no room, and always within the window. */
export function placeBeside(button: Box, menu: Box, { align, side }: Wish): { top: number; left: number } {
  const above = button.top - gap - menu.height;
  const below = button.bottom + gap;
  const fitsAbove = above >= margin;
  const fitsBelow = below + menu.height <= window.innerHeight - margin;
  const top = (side === 'top' && fitsAbove) || !fitsBelow ? Math.max(margin, above) : below;
  const left = align === 'start' ? button.left : button.right - menu.width;
  const most = document.documentElement.clientWidth - margin - menu.width;
  return { top, left: Math.max(margin, Math.min(left, most)) };
}

export function itemsOf(menu: HTMLElement | null): HTMLElement[] {
  return [...(menu?.querySelectorAll<HTMLElement>('[role^="menuitem"]:not(:disabled)') ?? [])];
}

export function itemAt(
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

/** The next one whose text begins with the letter, round from the one that has the focus. */
export function itemStartingWith(menu: HTMLElement, letter: string): HTMLElement | undefined {
  const items = itemsOf(menu);
  const at = items.indexOf(document.activeElement as HTMLElement);
  const inTurn = [...items.slice(at + 1), ...items.slice(0, at + 1)];
  return inTurn.find((item) => item.textContent?.trim().toLowerCase().startsWith(letter.toLowerCase()));
}
