import * as RadixTabs from 'radix-ui/tabs';
import type { ReactNode } from 'react';

type Tab<Value extends string> = Readonly<{ value: Value; label: ReactNode; content: ReactNode }>;

type TabsProps<Value extends string> = Readonly<{
  /** What the tabs are about, for those who do not see them. */
  label: string;
  tabs: readonly Tab<Value>[];
  /** Left out, the tabs remember by themselves. */
  value?: Value;
  onChange?: (value: Value) => void;
}>;

export function Tabs<Value extends string>({ label, tabs, value, onChange }: TabsProps<Value>) {
  const choose = (next: string) => {
    const tab = tabs.find((candidate) => candidate.value === next);
    if (tab !== undefined) onChange?.(tab.value);
  };
  return (
    <RadixTabs.Root
      {...(value === undefined ? { defaultValue: tabs[0]?.value ?? '' } : { value })}
      onValueChange={choose}
    >
      <RadixTabs.List aria-label={label} className="flex gap-5 overflow-x-auto border-b border-line">
        {tabs.map((tab) => (
          <RadixTabs.Trigger
            key={tab.value}
            value={tab.value}
            className="-mb-px border-b-2 border-transparent px-0.5 py-2 whitespace-nowrap text-ink-soft -outline-offset-2 hover:text-ink data-[state=active]:border-accent-text data-[state=active]:font-medium data-[state=active]:text-ink"
          >
            {tab.label}
          </RadixTabs.Trigger>
        ))}
      </RadixTabs.List>
      {tabs.map((tab) => (
        <RadixTabs.Content key={tab.value} value={tab.value} className="pt-4">
          {tab.content}
        </RadixTabs.Content>
      ))}
    </RadixTabs.Root>
  );
}
