/** The keys and the members of an account, as its own pages show them, without what its owners do there. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { KeyRound, SearchX, Users } from 'lucide-react';
import type { Key, Keys, Member } from '../../../../src/console/contract.ts';
import type { RequestGroups } from '../../../../src/console/request-contract.ts';
import { useSearchValue } from '../../../address.ts';
import { get } from '../../../api/client.ts';
import { accountKey, accountPath, useMe } from '../../../api/session.ts';
import { Card } from '../../../kit/card.tsx';
import { textLinkClass } from '../../../kit/class-names.ts';
import { Field, Select } from '../../../kit/field.tsx';
import { Dash } from '../../../kit/figures.tsx';
import { formatCount } from '../../../kit/format-figures.ts';
import { QueryTable } from '../../../kit/query-table.tsx';
import { SearchInput } from '../../../kit/search-input.tsx';
import { EmptyState } from '../../../kit/states.tsx';
import type { Column } from '../../../kit/table.tsx';
import { requestsWith } from '../../../links.ts';
import { keyColumnsOf } from '../../keys/key-columns.tsx';
import { keyOrders, selectKeys } from '../../keys/key-list.ts';
import { memberColumns } from '../../team/team-page.tsx';

const refreshMs = 15_000;

function useOfAccount<Body>(accountId: string, part: string) {
  return useQuery<Body>({
    queryKey: [...accountKey(accountId, part), {}],
    queryFn: ({ signal }) => get<Body>(accountPath(accountId, part), { signal }),
    refetchInterval: refreshMs,
  });
}

/** So few need no search. */
const fewKeys = 8;

/** Which key was used last, and which is refused, is what operators look for. */
export function AccountKeys({ accountId }: Readonly<{ accountId: string }>) {
  const keys = useOfAccount<Keys>(accountId, 'keys');
  const refusals = useKeyErrors(accountId);
  const [search, setSearch] = useSearchValue('search');
  const [sort, setSort] = useSearchValue('sort', 'used');
  const order = keyOrders.find(({ value }) => value === sort)?.value ?? 'used';
  const all = keys.data?.data;
  return (
    <Card title="Keys" description="All in force, and the newest 200 of the others." isFlush>
      {(all?.length ?? 0) > fewKeys && (
        <div className="flex flex-wrap items-end gap-3 border-b border-line py-3">
          <SearchInput
            label="Search keys"
            placeholder="Name or last characters"
            value={search}
            onSearch={setSearch}
            className="flex-1 basis-56"
          />
          <Field label="Sort by" isLabelHidden className="w-full sm:w-56">
            <Select value={order} options={keyOrders} onChange={setSort} />
          </Field>
        </div>
      )}
      <QueryTable
        query={keys}
        caption="Keys of the account"
        columns={withErrors(keyColumnsOf(accountId), accountId, refusals)}
        rows={all && selectKeys(all, { search, order, hasRevoked: true })}
        rowKey={({ id }) => id}
        expectedRows={3}
        empty={
          search === '' ? (
            <EmptyState icon={KeyRound} title="No keys yet">
              The owners of the account create them.
            </EmptyState>
          ) : (
            <EmptyState icon={SearchX} title="No matching keys">
              Search for a part of the name, or for the last characters of the key.
            </EmptyState>
          )
        }
      />
    </Card>
  );
}

const errorsSinceMs = 7 * 86_400_000;
const hourMs = 3_600_000;

/** How many requests of each key failed or were refused in the last 7 days, of those 50 with the most. */
function useKeyErrors(accountId: string): ReadonlyMap<string, number> {
  const { data } = useQuery<RequestGroups>({
    queryKey: [...accountKey(accountId, 'requests'), 'errors-by-key'],
    queryFn: ({ signal }) => {
      const from = new Date(Math.floor((Date.now() - errorsSinceMs) / hourMs) * hourMs).toISOString();
      const query = { by: 'key', order: 'errors', from };
      return get<RequestGroups>(accountPath(accountId, 'requests', 'groups'), { query, signal });
    },
  });
  return new Map((data?.data ?? []).map(({ value, failed, refused }) => [value ?? '', failed + refused]));
}

/** After the status of the key. */
function withErrors(
  columns: readonly Column<Key>[],
  account: string,
  errors: ReadonlyMap<string, number>,
): readonly Column<Key>[] {
  const at = columns.findIndex(({ key }) => key === 'state') + 1;
  return columns.toSpliced(at, 0, {
    key: 'errors',
    header: 'Errors, 7 d',
    align: 'right',
    cell: ({ id, name }) => {
      const count = errors.get(id) ?? 0;
      return count === 0 ? (
        <Dash />
      ) : (
        <Link {...requestsWith({ account, key: id, range: '7d' }, 'operator')} className={textLinkClass}>
          <span className="figures text-bad">{formatCount(count)}</span>
          <span className="sr-only"> of {name}</span>
        </Link>
      );
    },
  });
}

export function AccountMembers({ accountId }: Readonly<{ accountId: string }>) {
  const { user } = useMe();
  const members = useOfAccount<{ data: Member[] }>(accountId, 'members');
  return (
    <Card title="Members" isFlush>
      <QueryTable
        query={members}
        caption="Members of the account"
        columns={memberColumns(user.id, undefined)}
        rows={members.data?.data}
        rowKey={({ id }) => id}
        expectedRows={3}
        empty={
          <EmptyState icon={Users} title="No members yet">
            Add a user to the account, and they appear here.
          </EmptyState>
        }
      />
    </Card>
  );
}
