/** A request as code, in three languages. */
import { Link } from '@tanstack/react-router';
import { textLinkClass } from '../../kit/class-names.ts';
import { CodeBlock } from '../../kit/code-block.tsx';
import { keyVariable } from '../../kit/code-samples.ts';
import { EmptyState } from '../../kit/states.tsx';
import { withShortImages } from './conversation.ts';

type CodeTabProps = Readonly<{
  /** The same request in each language, or null while there is none. */
  code: Readonly<{ curl: string; python: string; typescript: string }> | null;
  emptyText: string;
}>;

export function CodeTab({ code, emptyText }: CodeTabProps) {
  if (code === null) return <EmptyState title="Nothing to show yet">{emptyText}</EmptyState>;
  const samples = [
    { label: 'curl', code: code.curl },
    { label: 'Python', code: code.python },
    { label: 'TypeScript', code: code.typescript },
  ];
  return (
    <div className="space-y-3 p-4 sm:p-5">
      <p className="text-ink-soft">
        The code reads the key from the environment variable <code className="font-mono">{keyVariable}</code>.
        Create one under{' '}
        <Link to="/keys" className={textLinkClass}>
          Keys
        </Link>
        .
      </p>
      <CodeBlock
        label="Request as code"
        samples={samples.map((sample) => ({ ...sample, shown: withShortImages(sample.code) }))}
        height="h-[30rem]"
      />
    </div>
  );
}
