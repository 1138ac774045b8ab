/** One key: what it may still do, what its requests did, its settings and its history. */
import { useParams } from '@tanstack/react-router';
import { Gauge, Pencil, RefreshCw, Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { KeyDetail } from '../../../src/console/key-contract.ts';
import { useAccount } from '../../api/session.ts';
import { formatMoney, formatMoneyExactly } from '../../kit/amounts.ts';
import { Button, LinkButton } from '../../kit/button.tsx';
import { Callout } from '../../kit/callout.tsx';
import { Time } from '../../kit/figures.tsx';
import { Page } from '../../kit/page.tsx';
import { Loaded, SkeletonLines } from '../../kit/states.tsx';
import type { Destination } from '../../links.ts';
import { FiguresOverTime, ProblemsByCode, useViewOf } from '../requests/of-one-thing.tsx';
import type { Place } from '../requests/refusal-fixes.ts';
import { ScopeContext, useAccountScope } from '../requests/scope.ts';
import { TopModels } from '../requests/top-groups.tsx';
import { KeyState } from './key-columns.tsx';
import { KeyDialog, type OpenDialog } from './key-dialog.tsx';
import { KeyHistory } from './key-history.tsx';
import { shownStateOf } from './key-list.ts';
import { KeyRoom } from './key-room.tsx';
import { KeyLimits, KeySettings } from './key-settings.tsx';
import { useKey } from './queries.ts';

export function KeyPage() {
  const { id = '' } = useParams({ strict: false });
  const { role } = useAccount();
  const scope = useAccountScope();
  const query = useKey(id);
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const key = query.data;
  const title = key?.name ?? 'Key';
  const edit = () => key !== undefined && setDialog({ kind: 'edit', subject: key });
  const isOwner = role === 'owner';
  return (
    <ScopeContext value={scope}>
      <Page
        title={title}
        heading={
          <span className="inline-flex flex-wrap items-center gap-x-3 gap-y-1">
            {title}
            {key !== undefined && <KeyState subject={key} isBrief />}
          </span>
        }
        description={key === undefined ? undefined : <About subject={key} />}
        back={{ to: '/keys', label: 'Keys' }}
        actions={
          key !== undefined && isOwner && key.state !== 'revoked' ? (
            <Actions subject={key} onAction={(kind) => setDialog({ kind, subject: key })} />
          ) : undefined
        }
      >
        <Loaded query={query} skeleton={<SkeletonLines count={8} />} errorTitle="The key could not be loaded">
          {(found) => (
            <Content subject={found} onEdit={isOwner ? edit : undefined} hasHistory={role !== 'member'} />
          )}
        </Loaded>
        {dialog !== null && <KeyDialog dialog={dialog} onChange={setDialog} />}
      </Page>
    </ScopeContext>
  );
}

function About({
  subject: { hint, created_at: createdAt, last_used_at: usedAt },
}: Readonly<{ subject: KeyDetail }>) {
  return (
    <>
      <code className="font-mono text-xs">{hint}</code> · created <Time at={createdAt} style="date" /> · last
      used <Time at={usedAt} style="distance" otherwise="never" />
    </>
  );
}

type ActionsProps = Readonly<{
  subject: KeyDetail;
  onAction: (kind: 'edit' | 'replace' | 'revoke') => void;
}>;

function Actions({ subject: { id, state }, onAction }: ActionsProps) {
  return (
    <>
      <Button icon={Pencil} onClick={() => onAction('edit')}>
        Edit
      </Button>
      <LinkButton icon={Gauge} to="/limits" search={{ key: id }}>
        Limits
      </LinkButton>
      <Button icon={RefreshCw} disabled={state !== 'active'} onClick={() => onAction('replace')}>
        Replace
      </Button>
      <Button icon={Trash2} onClick={() => onAction('revoke')}>
        Revoke
      </Button>
    </>
  );
}

type ContentProps = Readonly<{
  subject: KeyDetail;
  /** Undefined for those who may not. */
  onEdit: (() => void) | undefined;
  hasHistory: boolean;
}>;

function Content({ subject, onEdit, hasHistory }: ContentProps) {
  const { id } = subject;
  const view = useViewOf({ name: 'key', value: id });
  return (
    <>
      <Blocked subject={subject} onEdit={onEdit} />
      <KeyRoom subject={subject} />
      <FiguresOverTime view={view} />
      <ProblemsByCode view={view} placeLink={placeLink} />
      <TopModels view={view} />
      <div className="grid gap-8 xl:grid-cols-2">
        <KeySettings subject={subject} />
        <KeyLimits keyId={id} canSet={onEdit !== undefined} />
      </div>
      {hasHistory && <KeyHistory keyId={id} />}
    </>
  );
}

/** The key itself is this page. */
function placeLink(place: Place): Destination | null {
  return place === 'docs' || place === 'key' ? null : { to: `/${place}` };
}

/** A key whose requests are rejected must not look as if it worked. */
function Blocked({ subject, onEdit }: Pick<ContentProps, 'subject' | 'onEdit'>) {
  const state = shownStateOf(subject);
  const { monthly_limit: limit, month_left: left, typical_hold: hold } = subject;
  if (limit === null || (state !== 'blocked' && state !== 'at_limit')) return null;
  return (
    <Callout
      tone="bad"
      title={
        state === 'at_limit'
          ? `The monthly limit of ${formatMoneyExactly(limit)} is used up`
          : 'What is left of the monthly limit does not cover a typical request'
      }
      actions={
        onEdit === undefined ? undefined : (
          <Button size="small" onClick={onEdit}>
            Raise the limit
          </Button>
        )
      }
    >
      {state === 'blocked' && left !== null && hold !== null
        ? `${formatMoney(left)} is left, and a typical request holds ${formatMoney(hold)}. Requests are refused until the limit is raised or the next month begins (UTC); smaller ones may fit.`
        : 'Requests are refused until the limit is raised or the next month begins (UTC).'}
    </Callout>
  );
}
