/** The keys of the account. Owners create, edit, replace and revoke them; members can only view them. */
import { useNavigate } from '@tanstack/react-router';
import { KeyRound, Plus, SearchX } from 'lucide-react';
import { useCallback, useState } from 'react';
import type { Key } from '../../../src/console/contract.ts';
import { useReplaceSearch, useSearchParameters } from '../../address.ts';
import { useAccount } from '../../api/session.ts';
import { Button } from '../../kit/button.tsx';
import { Callout } from '../../kit/callout.tsx';
import { Card } from '../../kit/card.tsx';
import { Switch } from '../../kit/choice.tsx';
import { Field, Select } from '../../kit/field.tsx';
import { Page } from '../../kit/page.tsx';
import { Pager, pageOfList } from '../../kit/pager.tsx';
import { QueryTable } from '../../kit/query-table.tsx';
import { SearchInput } from '../../kit/search-input.tsx';
import { EmptyState } from '../../kit/states.tsx';
import { useMembers } from '../team/queries.ts';
import { type KeyAction, keyColumns } from './key-columns.tsx';
import { KeyDialog, type OpenDialog } from './key-dialog.tsx';
import { type KeyListView, keyOrders, selectKeys } from './key-list.ts';
import { useKeys } from './queries.ts';

export function KeysPage() {
  const { role } = useAccount();
  const isOwner = role === 'owner';
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const navigate = useNavigate();
  const create = () => setDialog({ kind: 'create' });
  const act = (kind: KeyAction, subject: Key) => {
    if (kind !== 'limits') setDialog({ kind, subject });
    else navigate({ to: '/limits', search: { key: subject.id } }).catch(() => {});
  };
  return (
    <Page
      title="Keys"
      description="Programs use a key to call the API. Each key has its own limits, and its secret is shown only once."
      actions={
        isOwner ? (
          <Button variant="primary" icon={Plus} onClick={create}>
            New key
          </Button>
        ) : undefined
      }
    >
      {role === 'member' && <OwnersNote />}
      <KeyList onCreate={isOwner ? create : undefined} onAction={isOwner ? act : undefined} />
      {dialog !== null && <KeyDialog dialog={dialog} onChange={setDialog} />}
    </Page>
  );
}

/** The API lists no more revoked and expired keys than this. */
const maxInactiveKeys = 200;

/** Members get no actions. */
type KeyListProps = Readonly<{
  onCreate: (() => void) | undefined;
  onAction: ((action: KeyAction, key: Key) => void) | undefined;
}>;

function KeyList({ onCreate, onAction }: KeyListProps) {
  const { view, pageNumber, change } = useKeyListView();
  const keys = useKeys();
  const all = keys.data?.data;
  const limitCounts = new Map(keys.data?.limited.map(({ key_id: id, limits }) => [id, limits]));
  const shown = all && selectKeys(all, view);
  const page = shown && pageOfList(shown, pageNumber, pageSize);
  const hasMany = (all?.length ?? 0) > fewKeys;
  const revokedCount = all?.filter(({ state }) => state === 'revoked').length ?? 0;
  const inactiveCount = all?.filter(({ state }) => state === 'revoked' || state === 'expired').length ?? 0;
  return (
    <Card
      title="All keys"
      description={
        inactiveCount < maxInactiveKeys
          ? undefined
          : `Only the newest ${maxInactiveKeys} revoked and expired keys are shown.`
      }
      isFlush
      actions={
        <Switch
          label={`Show revoked${revokedCount === 0 ? '' : ` (${revokedCount})`}`}
          isChecked={view.hasRevoked}
          onChange={(isChecked) => change({ revoked: isChecked ? 'shown' : undefined })}
        />
      }
    >
      {(hasMany || view.search !== '') && <KeyListControls view={view} onChange={change} />}
      <QueryTable
        query={keys}
        errorTitle="The keys could not be loaded"
        caption="Keys of this account"
        columns={keyColumns(limitCounts, onAction)}
        rows={page?.items}
        rowKey={({ id }) => id}
        expectedRows={3}
        empty={
          view.search === '' ? (
            <NoKeys hasRevoked={revokedCount > 0} onCreate={onCreate} />
          ) : (
            <EmptyState icon={SearchX} title="No matching keys">
              Search for a part of the name, or for the last characters of the key.
            </EmptyState>
          )
        }
      />
      {page !== undefined && page.items.length > 0 && hasMany && (
        <Pager
          page={page}
          label="Keys of this account"
          onChange={(number) => change({ page: number === 1 ? undefined : `${number}` })}
        />
      )}
    </Card>
  );
}

const pageSize = 25;
/** So few need no search. */
const fewKeys = 8;
const maxSearch = 200;

type KeyListSearch = Partial<Record<'search' | 'sort' | 'revoked' | 'page', string | undefined>>;

/** In the address, for reloads and links. Whatever changes the list leads to its first page. */
function useKeyListView() {
  const { search, sort, revoked, page } = useSearchParameters();
  const replace = useReplaceSearch();
  const change = useCallback(
    (changed: KeyListSearch) => replace((before) => ({ ...before, page: undefined, ...changed })),
    [replace],
  );
  const view: KeyListView = {
    search: typeof search === 'string' ? search.slice(0, maxSearch) : '',
    order: keyOrders.find(({ value }) => value === sort)?.value ?? 'newest',
    hasRevoked: revoked === 'shown',
  };
  const pageNumber = typeof page === 'string' && /^\d{1,6}$/.test(page) ? Number(page) : 1;
  return { view, pageNumber, change };
}

type KeyListControlsProps = Readonly<{ view: KeyListView; onChange: (changed: KeyListSearch) => void }>;

function KeyListControls({ view, onChange }: KeyListControlsProps) {
  return (
    <div className="flex flex-wrap items-end gap-3 border-b border-line py-3">
      <SearchInput
        label="Search keys"
        placeholder="Name or last characters"
        value={view.search}
        onSearch={(search) => onChange({ search: search === '' ? undefined : search.slice(0, maxSearch) })}
        className="flex-1 basis-56"
      />
      <Field label="Sort by" isLabelHidden className="w-full sm:w-56">
        <Select
          value={view.order}
          options={keyOrders}
          onChange={(order) => onChange({ sort: order === 'newest' ? undefined : order })}
        />
      </Field>
    </div>
  );
}

function NoKeys({
  hasRevoked,
  onCreate,
}: Pick<KeyListProps, 'onCreate'> & Readonly<{ hasRevoked: boolean }>) {
  return (
    <EmptyState
      icon={KeyRound}
      title={hasRevoked ? 'No active keys' : 'No keys yet'}
      action={
        onCreate === undefined ? undefined : (
          <Button variant="primary" icon={Plus} onClick={onCreate}>
            New key
          </Button>
        )
      }
    >
      {onCreate === undefined
        ? 'An owner of this account can create one.'
        : 'Create a key and use it in your program to call the API.'}
    </EmptyState>
  );
}

/** Explains why there are no buttons, and who can help. */
function OwnersNote() {
  const members = useMembers();
  const owners = members.data?.data.filter(({ role }) => role === 'owner').map(({ email }) => email) ?? [];
  return (
    <Callout title="You can view the keys, but not change them">
      You are a member of this account. Only owners can create, edit, replace and revoke keys
      {owners.length === 0 ? '.' : `. Ask ${owners.join(' or ')}.`}
    </Callout>
  );
}
