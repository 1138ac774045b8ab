/** Selects one of possibly many accounts: a search field, and radio buttons for the first matches. */
import { useId, useState } from 'react';
import { FieldGroup } from '../../../kit/field.tsx';
import { SearchInput } from '../../../kit/search-input.tsx';
import { Loaded, SkeletonLines } from '../../../kit/states.tsx';
import { useAccountChoices } from '../accounts/queries.ts';

export type AccountChoice = Readonly<{ id: string; name: string }>;

const maxChoices = 20;

type AccountPickerProps = Readonly<{
  chosen: AccountChoice | null;
  onChoose: (account: AccountChoice) => void;
  error?: string | null;
}>;

export function AccountPicker({ chosen, onChoose, error }: AccountPickerProps) {
  const group = useId();
  const [words, setWords] = useState('');
  const accounts = useAccountChoices(words, maxChoices);
  return (
    <FieldGroup label="Account" error={error}>
      <div className="rounded-md border border-line">
        <div className="flex flex-wrap items-center gap-x-3 gap-y-2 border-b border-line p-2">
          <SearchInput
            label="Search accounts by name or ID"
            placeholder="Name or ID"
            value={words}
            onSearch={setWords}
            className="min-w-0 flex-1 basis-40"
          />
          <span role="status" className="max-w-48 truncate text-xs text-ink-faint">
            {chosen === null ? 'None selected' : `Selected: ${chosen.name}`}
          </span>
        </div>
        <div className="h-36 overflow-y-auto p-1.5">
          <Loaded query={accounts} skeleton={<SkeletonLines count={4} />}>
            {({ data }) =>
              data.length === 0 ? (
                <p className="p-1.5 text-ink-soft">No matching accounts.</p>
              ) : (
                data.map((account) => (
                  <Choice
                    key={account.id}
                    group={group}
                    account={account}
                    isChosen={account.id === chosen?.id}
                    onChoose={() => onChoose(account)}
                  />
                ))
              )
            }
          </Loaded>
        </div>
      </div>
    </FieldGroup>
  );
}

type ChoiceProps = Readonly<{
  group: string;
  account: AccountChoice;
  isChosen: boolean;
  onChoose: () => void;
}>;

function Choice({ group, account, isChosen, onChoose }: ChoiceProps) {
  return (
    <label className="flex items-center gap-2.5 rounded px-1.5 py-1 hover:bg-hover">
      <input
        type="radio"
        name={group}
        value={account.id}
        checked={isChosen}
        onChange={onChoose}
        className="size-4 shrink-0 accent-accent"
      />
      <span className="min-w-0 flex-1 truncate">{account.name}</span>
      <code className="font-mono text-xs text-ink-faint">…{account.id.slice(-6)}</code>
    </label>
  );
}
