/** Guides a new account to its first request. Each step completes itself. */
import { Link } from '@tanstack/react-router';
import { Check, KeyRound } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import type { NewKey, Overview } from '../../../src/console/contract.ts';
import type { RequestRow } from '../../../src/console/request-contract.ts';
import { useAccount, useMe } from '../../api/session.ts';
import { signOfMoney, subtractMoney } from '../../kit/amounts.ts';
import { StatusBadge } from '../../kit/badge.tsx';
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { classNames, textLinkClass } from '../../kit/class-names.ts';
import { CodeBlock } from '../../kit/code-block.tsx';
import { curlOf, pythonOf, typescriptOf } from '../../kit/code-samples.ts';
import { Money } from '../../kit/figures.tsx';
import { Skeleton } from '../../kit/states.tsx';
import { ResendButton } from '../../layout/verify-email-note.tsx';
import { CreateKeyDialog } from '../keys/key-dialogs.tsx';
import { SecretDialog } from '../keys/secret-dialog.tsx';
import { CreditStep } from './credit-step.tsx';
import { useFirstChatModel, useFollowedSteps, useHasKey } from './queries.ts';

type Step = Readonly<{ title: string; isDone: boolean; content: ReactNode }>;
type FirstStepsProps = Readonly<{ overview: Overview; first: RequestRow | undefined }>;

export function FirstSteps({ overview, first }: FirstStepsProps) {
  const { user } = useMe();
  const hasKey = useHasKey();
  // The only time that its secret is known.
  const [newKey, setNewKey] = useState<NewKey | null>(null);
  const [mustVerify] = useState(user.must_verify_email);
  useFollowedSteps(user.must_verify_email, first);
  const hasRequest = first !== undefined;
  const steps: Step[] = [
    ...(mustVerify
      ? [
          {
            title: 'Verify your e-mail address',
            isDone: !user.must_verify_email,
            content: <VerificationStep />,
          },
        ]
      : []),
    {
      title: 'Get credit',
      isDone: hasRequest || signOfMoney(subtractMoney(overview.balance, overview.held)) > 0,
      content: <CreditStep overview={overview} />,
    },
    {
      title: 'Create a key',
      isDone: hasKey === true || hasRequest,
      content: <KeyStep hasKey={hasKey === true} isNew={newKey !== null} onCreated={setNewKey} />,
    },
    { title: 'Send a request', isDone: hasRequest, content: <RequestStep newKey={newKey} /> },
    { title: 'See it appear', isDone: hasRequest, content: <ArrivalStep first={first} /> },
  ];
  return (
    <Card title="Get started" description={`${countWords[steps.length]} steps to your first request`}>
      <ol className="space-y-6">
        {steps.map(({ title, isDone, content }, index) => (
          <StepView key={title} number={index + 1} title={title} isDone={isDone}>
            {content}
          </StepView>
        ))}
      </ol>
    </Card>
  );
}

const countWords: Readonly<Record<number, string>> = { 4: 'Four', 5: 'Five' };

function VerificationStep() {
  const { user } = useMe();
  if (!user.must_verify_email)
    return <p className="text-ink-soft wrap-anywhere">{user.email} is verified.</p>;
  return (
    <>
      <p className="mb-3 text-ink-soft wrap-anywhere">
        Open the link in the mail to <strong className="font-medium text-ink">{user.email}</strong> within a
        day. Until then you can look at everything, but change nothing.
      </p>
      <ResendButton />
    </>
  );
}

type KeyStepProps = Readonly<{ hasKey: boolean; isNew: boolean; onCreated: (newKey: NewKey) => void }>;

function KeyStep({ hasKey, isNew, onCreated }: KeyStepProps) {
  const { role } = useAccount();
  const { user } = useMe();
  return (
    <>
      <p className="text-ink-soft">{keyWords(hasKey, isNew)}</p>
      {role !== 'owner' ? (
        <p className="mt-3 text-ink-soft">Only owners of this account can create keys.</p>
      ) : (
        !isNew && !user.must_verify_email && <NewKeyButton hasKey={hasKey} onCreated={onCreated} />
      )}
    </>
  );
}

function keyWords(hasKey: boolean, isNew: boolean): string {
  if (isNew) return 'The request below has your new key in it, until you leave this page.';
  return hasKey
    ? 'This account has a key. Its secret cannot be shown here again: create another key if you no longer have it.'
    : 'Programs use a key to call the API. Its secret is shown only once, so store it safely.';
}

function NewKeyButton({ hasKey, onCreated }: Pick<KeyStepProps, 'hasKey' | 'onCreated'>) {
  const [isOpen, setOpen] = useState(false);
  const [created, setCreated] = useState<NewKey | null>(null);
  return (
    <div className="mt-3">
      <Button icon={KeyRound} variant={hasKey ? 'secondary' : 'primary'} onClick={() => setOpen(true)}>
        {hasKey ? 'Create another key' : 'Create a key'}
      </Button>
      {isOpen && created === null && (
        <CreateKeyDialog onCreated={setCreated} onClose={() => setOpen(false)} />
      )}
      {created !== null && <SecretDialog newKey={created} onClose={() => onCreated(created)} />}
    </div>
  );
}

function RequestStep({ newKey }: Readonly<{ newKey: NewKey | null }>) {
  const { api_origin: apiOrigin } = useMe();
  const model = useFirstChatModel(newKey?.key.allowed_models ?? null);
  return (
    <>
      <p className="mb-3 text-ink-soft">
        {newKey === null ? (
          <>
            Replace <code className="font-mono text-ink">YOUR_KEY</code> with your key and run this.
          </>
        ) : (
          'Run this.'
        )}{' '}
        Any program that speaks to OpenAI works with this address and key.
      </p>
      {model === undefined ? (
        <Skeleton className="h-36 w-full rounded-lg" />
      ) : (
        <CodeBlock
          // Each key starts with curl again.
          key={newKey?.key.id}
          label="First request"
          samples={firstRequest(apiOrigin, model, newKey?.secret)}
        />
      )}
    </>
  );
}

function ArrivalStep({ first }: Readonly<{ first: RequestRow | undefined }>) {
  return (
    <div role="status" className="min-h-7 text-ink-soft">
      {first === undefined ? (
        <span className="inline-flex items-center gap-2">
          <span aria-hidden className="size-2 animate-breathe rounded-full bg-accent-text" />
          Waiting for your first request …
        </span>
      ) : (
        <FirstRequest first={first} />
      )}
    </div>
  );
}

function FirstRequest({ first }: Readonly<{ first: RequestRow }>) {
  return (
    <span className="inline-flex flex-wrap items-center gap-x-3 gap-y-1">
      <StatusBadge status={first.status} />
      <span>
        {first.model}
        {first.cost !== null && (
          <>
            {' '}
            for <Money amount={first.cost} />
          </>
        )}
      </span>
      <Link to="/requests/$id" params={{ id: first.id }} className={textLinkClass}>
        View request
      </Link>
    </span>
  );
}

type StepViewProps = Readonly<{ number: number; title: string; isDone: boolean; children: ReactNode }>;

function StepView({ number, title, isDone, children }: StepViewProps) {
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

/** Complete except for a key that was made earlier, which is not stored. */
export function firstRequest(apiOrigin: string, model: string, key = 'YOUR_KEY') {
  const request = { model, messages: [{ role: 'user', content: 'Say hello.' }] };
  return [
    { label: 'curl', code: curlOf(apiOrigin, request, key) },
    { label: 'Python', code: pythonOf(apiOrigin, request, key) },
    { label: 'TypeScript', code: typescriptOf(apiOrigin, request, key) },
  ];
}
