/** An ID that is long to read: its beginning and end, all of it on hover and in the clipboard. */
import { CopyButton } from '../../kit/copy-button.tsx';

export function ShortId({ id, label }: Readonly<{ id: string; label: string }>) {
  return (
    <span className="inline-flex items-center gap-0.5 whitespace-nowrap">
      <code title={id} className="font-mono text-xs text-ink-faint">
        {id.slice(0, 8)}…{id.slice(-4)}
      </code>
      <CopyButton text={id} label={label} />
    </span>
  );
}
