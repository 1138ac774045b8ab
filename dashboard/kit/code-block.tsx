/** Code to read and copy, in one or several languages. */
import { useId, useState } from 'react';
import { Segmented } from './choice.tsx';
import { CopyButton } from './copy-button.tsx';

type Sample = Readonly<{
  label: string;
  /** What is copied. `shown` replaces it on the screen if it is too long to read. */
  code: string;
  shown?: string;
}>;

type CodeBlockProps = Readonly<{
  /** What the code is, as an accessible name. */
  label: string;
  samples: readonly Sample[];
  /** Such as `max-h-96`. */
  height?: string;
}>;

export function CodeBlock({ label, samples, height = 'max-h-[28rem]' }: CodeBlockProps) {
  const id = useId();
  const [chosen, choose] = useState(samples[0]?.label ?? '');
  const sample = samples.find((candidate) => candidate.label === chosen) ?? samples[0];
  if (sample === undefined) return null;
  return (
    <figure className="overflow-hidden rounded-lg border border-line bg-sunken">
      <div className="flex items-center justify-between gap-2 border-b border-line py-1.5 pr-2 pl-3">
        {samples.length === 1 ? (
          <figcaption id={id} className="text-xs font-medium text-ink-faint">
            {sample.label}
          </figcaption>
        ) : (
          <Segmented
            label={label}
            value={sample.label}
            options={samples.map((option) => ({ value: option.label, label: option.label }))}
            onChange={choose}
            className="-ml-1.5"
          />
        )}
        <CopyButton text={sample.code} label={`Copy: ${label}`} />
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: it has to be preformatted text. */}
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
        tabIndex={0}
        role="region"
        aria-label={label}
        className={`overflow-auto px-4 py-3 font-mono text-[0.8125rem]/5 -outline-offset-2 ${height}`}
      >
        <code>{sample.shown ?? sample.code}</code>
      </pre>
    </figure>
  );
}
