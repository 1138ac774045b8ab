/** Tabs with automatic activation, as the WAI-ARIA pattern describes them: the arrow keys move and select. */
import { type KeyboardEvent, type ReactNode, useId, useState } from 'react';

type TabsProps = Readonly<{
  /** What the tabs are about, as an accessible name. */
  label: string;
  tabs: readonly Readonly<{ label: string; content: ReactNode }>[];
}>;

export function Tabs({ label, tabs }: TabsProps) {
  const id = useId();
  const [selected, select] = useState(0);
  const move = (event: KeyboardEvent<HTMLDivElement>) => {
    // With a modifier they belong to the browser, such as Alt and an arrow to go back.
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const next = nextIndex(event.key, selected, tabs.length);
    if (next === null) return;
    event.preventDefault();
    select(next);
    event.currentTarget.querySelectorAll<HTMLElement>('[role="tab"]')[next]?.focus();
  };
  return (
    <>
      <div
        role="tablist"
        aria-label={label}
        onKeyDown={move}
        className="flex gap-5 scroll-px-12 overflow-x-auto border-b border-line"
      >
        {tabs.map((tab, index) => (
          <button
            key={tab.label}
            type="button"
            role="tab"
            id={`${id}-tab-${index}`}
            aria-controls={index === selected ? `${id}-panel` : undefined}
            aria-selected={index === selected}
            tabIndex={index === selected ? 0 : -1}
            onClick={() => select(index)}
            className="-mb-px border-b-2 border-transparent px-0.5 py-2 whitespace-nowrap text-ink-soft -outline-offset-2 hover:text-ink aria-selected:border-ink aria-selected:font-medium aria-selected:text-ink"
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div
        role="tabpanel"
        id={`${id}-panel`}
        aria-labelledby={`${id}-tab-${selected}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a panel without controls must be reachable by keyboard.
        tabIndex={0}
        className="pt-4"
      >
        {tabs[selected]?.content}
      </div>
    </>
  );
}

/** The arrow keys wrap around; null for any other key. */
function nextIndex(key: string, from: number, count: number): number | null {
  if (key === 'ArrowRight') return (from + 1) % count;
  if (key === 'ArrowLeft') return (from + count - 1) % count;
  if (key === 'Home') return 0;
  return key === 'End' ? count - 1 : null;
}
