/** What stands at the top of a page about one request: its name with its status, and its ID to copy. */
import type { ReactNode } from 'react';
import type { GenerationDetail } from '../../../src/console/contract.ts';
import { StatusBadge } from '../../kit/badge.tsx';
import { CopyButton } from '../../kit/copy-button.tsx';

type RequestHeadingProps = Readonly<{ status: GenerationDetail['status'] | undefined; children: ReactNode }>;

export function RequestHeading({ status, children }: RequestHeadingProps) {
  return (
    <span className="inline-flex flex-wrap items-center gap-x-3 gap-y-1">
      {children}
      {status !== undefined && <StatusBadge status={status} />}
    </span>
  );
}

export function RequestIdLine({ id }: Readonly<{ id: string }>) {
  return (
    <span className="inline-flex max-w-full flex-wrap items-center gap-x-1">
      <span className="sr-only">Request ID </span>
      <code className="font-mono text-[0.8125rem] wrap-anywhere">{id}</code>
      <CopyButton text={id} label="Copy the request ID" />
    </span>
  );
}
