/** Decisions to start from. What a person wrote is not thrown away without asking. */
import { useState } from 'react';
import { ConfirmDialog } from '../../kit/confirm-dialog.tsx';
import { Select } from '../../kit/input.tsx';
import { type Example, examples } from './examples.ts';
import type { DecisionDraft } from './use-draft.ts';

export function ExampleChooser({ draft }: Readonly<{ draft: DecisionDraft }>) {
  const [wanted, setWanted] = useState<Example | null>(null);
  const choose = (id: string) => {
    const example = examples.find((candidate) => candidate.id === id);
    if (example === undefined) return;
    if (draft.example === null) setWanted(example);
    else draft.load(example);
  };
  return (
    <>
      <Select
        aria-label="Start from an example"
        className="w-72 max-w-full"
        value={draft.example?.id ?? ''}
        onChange={({ target }) => choose(target.value)}
      >
        {draft.example === null && <option value="">Your own</option>}
        {examples.map(({ id, label }) => (
          <option key={id} value={id}>
            {`Example: ${label}`}
          </option>
        ))}
      </Select>
      {wanted !== null && (
        <ConfirmDialog
          title="Replace what you have written?"
          confirmLabel="Replace it"
          onConfirm={async () => draft.load(wanted)}
          onClose={() => setWanted(null)}
        >
          The example “{wanted.label}” takes the place of your state and your questions.
        </ConfirmDialog>
      )}
    </>
  );
}
