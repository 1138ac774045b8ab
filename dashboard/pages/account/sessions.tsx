import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ListedSession } from '../../../src/people/sign-in-contract.ts';
import { problemOf } from '../../api/client.ts';
import { endOtherSessions, endSession, sessionsQuery } from '../../api/session.ts';
import { Badge } from '../../kit/badge.tsx';
import { Button } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { ConfirmDialog } from '../../kit/dialog.tsx';
import { Time } from '../../kit/figures.tsx';
import { formatTime } from '../../kit/format-figures.ts';
import { QueryTable } from '../../kit/query-table.tsx';
import type { Column } from '../../kit/table.tsx';
import { showToast } from '../../kit/toast.tsx';

export function Sessions() {
  const [isAsking, setAsking] = useState(false);
  const queryClient = useQueryClient();
  const sessions = useQuery(sessionsQuery);
  const refresh = () => queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey });
  const ending = useMutation({
    mutationFn: endSession,
    onSuccess: () => showToast('good', 'The session has ended.'),
    onError: (error) => showToast('bad', problemOf(error).message),
    onSettled: refresh,
  });
  const endOthers = async () => {
    await endOtherSessions();
    showToast('good', 'Your other sessions have ended.');
    await refresh();
  };
  const hasOthers = sessions.data?.some(({ isCurrent }) => !isCurrent) ?? false;
  return (
    <Card
      title="Sessions"
      description="If you do not recognise a session, end it and change your password."
      isFlush
      actions={
        <Button size="small" disabled={!hasOthers} onClick={() => setAsking(true)}>
          End other sessions
        </Button>
      }
    >
      <QueryTable
        query={sessions}
        caption="Your sessions"
        columns={columnsOf((id) => ending.mutate(id), ending.isPending ? ending.variables : null)}
        rows={sessions.data}
        rowKey={({ id }) => id}
        expectedRows={2}
      />
      {isAsking && (
        <ConfirmDialog
          title="End all other sessions?"
          confirmLabel="End sessions"
          isDangerous
          onConfirm={endOthers}
          onClose={() => setAsking(false)}
        >
          You will have to sign in again in every browser except this one.
        </ConfirmDialog>
      )}
    </Card>
  );
}

function columnsOf(end: (id: string) => void, endingId: string | null): Column<ListedSession>[] {
  return [
    {
      key: 'browser',
      header: 'Browser',
      isBare: true,
      cell: ({ userAgent, isCurrent }) => (
        <span className="inline-flex flex-wrap items-center gap-2 font-medium" title={userAgent ?? undefined}>
          {describeBrowser(userAgent)}
          {isCurrent && <Badge tone="good">Current</Badge>}
        </span>
      ),
    },
    { key: 'address', header: 'IP address', cell: ({ ipAddress }) => ipAddress || '–' },
    { key: 'since', header: 'Signed in', cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      key: 'end',
      header: <span className="sr-only">End</span>,
      align: 'right',
      isCorner: true,
      cell: ({ id, isCurrent, userAgent, createdAt }) =>
        isCurrent ? null : (
          <Button
            size="small"
            isBusy={endingId === id}
            aria-label={`End the session in ${describeBrowser(userAgent)}, started ${formatTime(new Date(createdAt), 'exact')}`}
            onClick={() => end(id)}
          >
            End
          </Button>
        ),
    },
  ];
}

/** In this order, because user agents also name the browsers that they descend from. */
const browsers: readonly [pattern: RegExp, name: string][] = [
  [/Edg(?:e|A|iOS)?\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\/|FxiOS\//, 'Firefox'],
  [/Chrome\/|CriOS\/|HeadlessChrome/, 'Chrome'],
  [/Safari\//, 'Safari'],
  [/curl\//, 'curl'],
];

const systems: readonly [pattern: RegExp, name: string][] = [
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X|Macintosh/, 'macOS'],
  [/Linux|X11/, 'Linux'],
];

export function describeBrowser(userAgent: string | null): string {
  const named = (list: readonly [RegExp, string][]) =>
    list.find(([pattern]) => pattern.test(userAgent ?? ''))?.[1];
  const browser = named(browsers) ?? 'Unknown browser';
  const system = named(systems);
  return system === undefined ? browser : `${browser} on ${system}`;
}
