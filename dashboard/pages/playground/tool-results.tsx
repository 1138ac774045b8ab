/** The model waits for what its tools said: one field for each call, sent together. */
import { useState } from 'react';
import { Button } from '../../kit/button.tsx';
import { Field } from '../../kit/field.tsx';
import { TextArea } from '../../kit/input.tsx';
import type { ToolCall, ToolTurn } from './conversation.ts';

type ToolResultsProps = Readonly<{
  calls: readonly ToolCall[];
  /** Why nothing can be sent at the moment. */
  obstacle: string | null;
  onSend: (results: readonly ToolTurn[]) => void;
}>;

export function ToolResults({ calls, obstacle, onSend }: ToolResultsProps) {
  const [results, setResults] = useState<readonly string[]>(() => calls.map(() => ''));
  const change = (at: number, text: string) =>
    setResults(results.map((result, other) => (other === at ? text : result)));
  const sendAll = () =>
    onSend(calls.map(({ id, name }, at) => ({ kind: 'tool', callId: id, name, result: results[at] ?? '' })));
  return (
    <div className="space-y-3 border-t border-line p-4 sm:px-5">
      <p className="text-ink-soft">
        The model does not run tools itself. Write what {calls.length === 1 ? 'the tool' : 'each tool'}{' '}
        answers.
      </p>
      {calls.map(({ id, name }, at) => (
        <Field key={id} label={`Result of ${name}`}>
          <TextArea
            isCode
            rows={3}
            placeholder='{"temperature": 21}'
            value={results[at] ?? ''}
            onChange={(event) => change(at, event.target.value)}
          />
        </Field>
      ))}
      <div className="flex flex-wrap items-center justify-between gap-2">
        <span className="text-xs text-ink-faint">{obstacle}</span>
        <Button
          variant="primary"
          disabled={obstacle !== null || results.some((text) => text.trim() === '')}
          onClick={sendAll}
        >
          {calls.length === 1 ? 'Send the result' : 'Send the results'}
        </Button>
      </div>
    </div>
  );
}
