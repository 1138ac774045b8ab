/** The tokens with which programs use the admin API. */
import { KeySquare, Plus } from 'lucide-react';
import { useState } from 'react';
import type { AdminToken, NewAdminToken } from '../../../../src/console/operator-contract.ts';
import { StatusBadge } from '../../../kit/badge.tsx';
import { Button } from '../../../kit/button.tsx';
import { Card } from '../../../kit/card.tsx';
import { textLinkClass } from '../../../kit/class-names.ts';
import { Dash, Time } from '../../../kit/figures.tsx';
import { NameWithNote } from '../../../kit/name-with-note.tsx';
import { Page } from '../../../kit/page.tsx';
import { QueryTable } from '../../../kit/query-table.tsx';
import { EmptyState } from '../../../kit/states.tsx';
import { actionsColumn, type Column } from '../../../kit/table.tsx';
import { operatorPath } from '../operator-query.ts';
import { useTokens } from './queries.ts';
import { CreateTokenDialog, NewTokenDialog, RevokeTokenDialog } from './token-dialogs.tsx';

type OpenDialog =
  | Readonly<{ kind: 'create' }>
  | Readonly<{ kind: 'created'; newToken: NewAdminToken }>
  | Readonly<{ kind: 'revoke'; token: AdminToken }>;

export function OperatorTokensPage() {
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const tokens = useTokens();
  const create = (
    <Button variant="primary" icon={Plus} onClick={() => setDialog({ kind: 'create' })}>
      New token
    </Button>
  );
  return (
    <Page
      title="Admin tokens"
      description="Your own programs use the admin API with them. They are not tied to an account."
      actions={create}
    >
      <Card isFlush>
        <QueryTable
          query={tokens}
          caption="Admin tokens"
          columns={tokenColumns((token) => setDialog({ kind: 'revoke', token }))}
          rows={tokens.data?.data}
          rowKey={({ id }) => id}
          expectedRows={4}
          empty={
            <EmptyState icon={KeySquare} title="No tokens yet" action={create}>
              A program that creates accounts, adds credit or reads usage needs one.
            </EmptyState>
          }
        />
      </Card>
      <p className="text-xs text-ink-faint">
        The{' '}
        <a href={operatorPath('openapi.json')} download="tollgate-admin.json" className={textLinkClass}>
          OpenAPI document
        </a>{' '}
        describes the admin API. Programs find it at <code>/admin/v1/openapi.json</code>.
      </p>
      {dialog !== null && <TokenDialog dialog={dialog} onChange={setDialog} />}
    </Page>
  );
}

type TokenDialogProps = Readonly<{ dialog: OpenDialog; onChange: (dialog: OpenDialog | null) => void }>;

function TokenDialog({ dialog, onChange }: TokenDialogProps) {
  const close = () => onChange(null);
  switch (dialog.kind) {
    case 'create':
      return (
        <CreateTokenDialog
          onCreated={(newToken) => onChange({ kind: 'created', newToken })}
          onClose={close}
        />
      );
    case 'created':
      return <NewTokenDialog newToken={dialog.newToken} onClose={close} />;
    case 'revoke':
      return <RevokeTokenDialog token={dialog.token} onClose={close} />;
  }
}

function tokenColumns(onRevoke: (token: AdminToken) => void): readonly Column<AdminToken>[] {
  return [
    {
      key: 'name',
      header: 'Token',
      isBare: true,
      cell: ({ name, hint }) => (
        <NameWithNote
          name={<span title={`${name} (${hint})`}>{name}</span>}
          note={<code className="font-mono">{hint}</code>}
        />
      ),
    },
    { key: 'state', header: 'Status', cell: ({ state }) => <StatusBadge status={state} /> },
    {
      key: 'scopes',
      header: 'Scopes',
      cell: ({ scopes }) => <span className="whitespace-normal">{scopes.join(', ')}</span>,
    },
    {
      key: 'networks',
      header: 'From',
      cell: ({ networks }) =>
        networks?.map((network) => (
          <span key={network} className="mr-1.5 md:block">
            {network}
          </span>
        )) ?? 'Everywhere',
    },
    {
      key: 'expires',
      header: 'Expires',
      cell: ({ state, expires_at: at }) =>
        state === 'revoked' ? <Dash /> : <Time at={at} style="distance" />,
    },
    {
      key: 'used',
      header: 'Last used',
      cell: ({ last_used_at: at }) => (at === null ? <Dash /> : <Time at={at} style="distance" />),
    },
    {
      key: 'creator',
      isOptional: true,
      header: 'Created by',
      cell: ({ created_by: creator }) => creator ?? 'Command line',
    },
    actionsColumn((token) =>
      token.state === 'active' ? (
        <Button size="small" onClick={() => onRevoke(token)}>
          Revoke
        </Button>
      ) : null,
    ),
  ];
}
