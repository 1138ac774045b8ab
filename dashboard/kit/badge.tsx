import type { ReactNode } from 'react';
import { classNames } from './class-names.ts';

export type BadgeTone = 'plain' | 'accent' | 'good' | 'warn' | 'bad';

/** Colour is for what needs attention. Of the rest, only the dot tells what is under way. */
const tones: Readonly<Record<BadgeTone, string>> = {
  plain: 'bg-sunken text-ink-soft',
  accent: 'bg-sunken text-ink-soft',
  good: 'bg-sunken text-ink-soft',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
};

const dotted: Readonly<Record<BadgeTone, string>> = {
  plain: 'text-ink-faint',
  accent: 'text-ink-soft',
  good: 'text-ink-soft',
  warn: 'text-warn',
  bad: 'text-bad',
};

const dots: Readonly<Record<BadgeTone, string>> = {
  plain: 'bg-edge',
  accent: 'bg-chart-1',
  good: 'bg-edge/70',
  warn: 'bg-warn',
  bad: 'bg-bad',
};

export function Badge({
  tone = 'plain',
  hasDot = false,
  children,
}: Readonly<{ tone?: BadgeTone; hasDot?: boolean; children: ReactNode }>) {
  return (
    <span
      className={classNames(
        'inline-flex gap-1.5 text-xs wrap-normal md:whitespace-nowrap',
        hasDot
          ? classNames('items-start font-normal', dotted[tone])
          : classNames('items-center rounded px-1.5 font-medium', tones[tone]),
      )}
    >
      {hasDot && (
        <span
          aria-hidden
          // In the middle of the first line, because on a phone there can be a second.
          className={classNames('mt-[calc((1lh-0.375rem)/2)] size-1.5 shrink-0 rounded-full', dots[tone])}
        />
      )}
      {children}
    </span>
  );
}

/** The statuses of the API, with their labels and colours. */
const statuses = new Map<string, Readonly<{ tone: BadgeTone; label: string }>>([
  ['processing', { tone: 'accent', label: 'In progress' }],
  ['pending', { tone: 'accent', label: 'In progress' }],
  ['in_progress', { tone: 'accent', label: 'In progress' }],
  ['completed', { tone: 'good', label: 'Completed' }],
  ['succeeded', { tone: 'good', label: 'Succeeded' }],
  ['failed', { tone: 'bad', label: 'Failed' }],
  ['cancelled', { tone: 'plain', label: 'Cancelled' }],
  ['refused', { tone: 'warn', label: 'Refused' }],
  ['active', { tone: 'good', label: 'Active' }],
  ['at_limit', { tone: 'bad', label: 'At limit' }],
  ['replaced', { tone: 'warn', label: 'Replaced' }],
  ['revoked', { tone: 'plain', label: 'Revoked' }],
  ['used', { tone: 'plain', label: 'Used' }],
  ['voided', { tone: 'plain', label: 'Voided' }],
  ['ended', { tone: 'plain', label: 'Ended' }],
  ['expired', { tone: 'plain', label: 'Expired' }],
  ['suspended', { tone: 'bad', label: 'Suspended' }],
  ['closed', { tone: 'good', label: 'Closed' }],
  ['half_open', { tone: 'warn', label: 'Half open' }],
  ['open', { tone: 'bad', label: 'Open' }],
  ['alive', { tone: 'good', label: 'Alive' }],
  ['stopped', { tone: 'plain', label: 'Stopped' }],
  ['lost', { tone: 'bad', label: 'Lost' }],
  ['sound', { tone: 'good', label: 'Consistent' }],
  ['broken', { tone: 'bad', label: 'Contradictions' }],
  ['running', { tone: 'accent', label: 'Running' }],
]);

export function StatusBadge({ status }: Readonly<{ status: string }>) {
  const { tone, label } = statuses.get(status) ?? { tone: 'plain', label: status.replaceAll('_', ' ') };
  return (
    <Badge tone={tone} hasDot>
      {label}
    </Badge>
  );
}

/** Marks a request that another provider served after the first one had failed. */
export function FallbackMark() {
  return (
    <span title="Another provider failed first">
      <Badge tone="warn">Fallback</Badge>
    </span>
  );
}

/** Marks a charge that the gateway had to estimate. */
export const aboutEstimates =
  'The gateway ended this call before the provider reported its usage. Input and delivered output were estimated by counting words, which gives less than any token count. Input is charged as if all of it had been read from a cache.';

export function EstimatedMark() {
  return (
    <span title={aboutEstimates}>
      <Badge tone="warn">Estimated</Badge>
    </span>
  );
}
