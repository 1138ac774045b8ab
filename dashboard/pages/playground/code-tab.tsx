/** The same request as code, to copy into a program. The key stays where programs keep it. */
import { Link } from '@tanstack/react-router';
import { useMe } from '../../api/session.ts';
import { CodeBlock } from '../../kit/code-block.tsx';
import { type ChatRequestBody, curlOf, keyVariable, pythonOf, typescriptOf } from '../../kit/code-samples.ts';
import { EmptyState } from '../../kit/empty-state.tsx';
import { withShortImages } from './chat-request.ts';

/** Null as long as nothing was written. */
export function CodeTab({ request }: Readonly<{ request: ChatRequestBody | null }>) {
  const { api_origin: apiOrigin } = useMe();
  if (request === null)
    return (
      <EmptyState title="Nothing to show yet">
        Write a message, and its request appears here as code.
      </EmptyState>
    );
  const samples = [
    { label: 'curl', code: curlOf(apiOrigin, request) },
    { label: 'Python', code: pythonOf(apiOrigin, request) },
    { label: 'TypeScript', code: typescriptOf(apiOrigin, request) },
  ];
  return (
    <div className="space-y-3 p-4 sm:p-5">
      <p className="text-ink-soft">
        The code reads the key from the environment variable <code className="font-mono">{keyVariable}</code>.
        Make a key for your program on the page{' '}
        <Link to="/keys" className="rounded text-accent-text underline underline-offset-2">
          Keys
        </Link>
        .
      </p>
      <CodeBlock
        label="the request as code"
        samples={samples.map((sample) => ({ ...sample, shown: withShortImages(sample.code) }))}
        height="h-[30rem]"
      />
    </div>
  );
}
