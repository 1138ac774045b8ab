/** Guides a new account to its first request. The last step completes itself. */
import { Link } from '@tanstack/react-router';
import { Check, KeyRound } from 'lucide-react';
import type { ReactNode } from 'react';
import type { GenerationRow } from '../../../src/console/contract.ts';
import { useAccount, useMe } from '../../api/session.ts';
import { StatusBadge } from '../../kit/badge.tsx';
import { LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { classNames, textLinkClass } from '../../kit/class-names.ts';
import { CodeBlock } from '../../kit/code-block.tsx';
import { curlOf } from '../../kit/code-samples.ts';
import { Money } from '../../kit/figures.tsx';
import { Skeleton } from '../../kit/states.tsx';
import { useFirstChatModel, useHasKey } from './queries.ts';

export function FirstSteps({ first }: Readonly<{ first: GenerationRow | undefined }>) {
  const { api_origin: apiOrigin } = useMe();
  const { role } = useAccount();
  const hasKey = useHasKey();
  const model = useFirstChatModel();
  const hasRequest = first !== undefined;
  return (
    <Card title="Get started" description="Three steps to your first request.">
      <ol className="space-y-6">
        <Step number={1} title="Create a key" isDone={hasKey === true || hasRequest}>
          <p className="text-ink-soft">
            {hasKey === true
              ? 'This account has a key. Its secret cannot be shown here again: create another key if you no longer have it.'
              : 'Programs use a key to call the API. Its secret is shown only once, so store it safely.'}
          </p>
          <div className="mt-3">
            {role === 'owner' ? (
              <LinkButton to="/keys" icon={KeyRound} variant={hasKey === true ? 'secondary' : 'primary'}>
                {hasKey === true ? 'Go to keys' : 'Create a key'}
              </LinkButton>
            ) : (
              <p className="text-ink-soft">Only owners of this account can create keys.</p>
            )}
          </div>
        </Step>
        <Step number={2} title="Send a request" isDone={hasRequest}>
          <p className="mb-3 text-ink-soft">
            Replace <code className="font-mono text-ink">YOUR_KEY</code> with your key and run this in a
            terminal.
          </p>
          {model === undefined ? (
            <Skeleton className="h-36 w-full rounded-lg" />
          ) : (
            <CodeBlock
              label="First request"
              samples={[{ label: 'curl', code: firstRequest(apiOrigin, model) }]}
            />
          )}
        </Step>
        <Step number={3} title="See it appear" isDone={hasRequest}>
          <div role="status" className="min-h-7 text-ink-soft">
            {first === undefined ? (
              <span className="inline-flex items-center gap-2">
                <span aria-hidden className="size-2 animate-breathe rounded-full bg-accent-text" />
                Waiting for your first request …
              </span>
            ) : (
              <FirstGeneration first={first} />
            )}
          </div>
        </Step>
      </ol>
    </Card>
  );
}

function FirstGeneration({ first }: Readonly<{ first: GenerationRow }>) {
  return (
    <span className="inline-flex flex-wrap items-center gap-x-3 gap-y-1">
      <StatusBadge status={first.status} />
      <span>
        {first.model}
        {first.cost !== null && (
          <>
            {' '}
            for <Money amount={first.cost.total} />
          </>
        )}
      </span>
      <Link to="/generations/$id" params={{ id: first.id }} className={textLinkClass}>
        View request
      </Link>
    </span>
  );
}

type StepProps = Readonly<{ number: number; title: string; isDone: boolean; children: ReactNode }>;

function Step({ number, title, isDone, children }: StepProps) {
  return (
    <li className="flex gap-3.5">
      <span
        aria-hidden
        className={classNames(
          'figures grid size-6 shrink-0 place-items-center rounded-full text-xs font-semibold',
          isDone ? 'bg-good-soft text-good' : 'bg-accent-soft text-accent-text',
        )}
      >
        {isDone ? <Check className="size-3.5" /> : number}
      </span>
      <div className="min-w-0 flex-1">
        <h3 className="mb-1 leading-6 font-medium">
          {title}
          {isDone && <span className="sr-only"> (done)</span>}
        </h3>
        {children}
      </div>
    </li>
  );
}

/** Complete except for the key, which is not stored. */
export function firstRequest(apiOrigin: string, model: string): string {
  return curlOf(apiOrigin, { model, messages: [{ role: 'user', content: 'Say hello.' }] }, 'YOUR_KEY');
}
