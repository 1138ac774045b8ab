/** What the account, its keys and its end users may use. Owners set limits; members can only view them. */
import { useReplaceSearch, useSearchParameters } from '../../address.ts';
import { useAccount } from '../../api/session.ts';
import { Callout } from '../../kit/callout.tsx';
import { Field } from '../../kit/field.tsx';
import { Page } from '../../kit/page.tsx';
import { Picker } from '../../kit/picker.tsx';
import { SearchInput } from '../../kit/search-input.tsx';
import { useKeys } from '../keys/queries.ts';
import { LimitsCard } from './limits-card.tsx';
import { useOwnLimits } from './queries.ts';

export function LimitsPage() {
  const { role } = useAccount();
  const source = useOwnLimits();
  const filter = useLimitFilter();
  return (
    <Page
      title="Limits"
      description="What the account, its keys and its end users may use. Days begin at midnight UTC."
    >
      {role === 'member' && (
        <Callout>You are a member of this account. Only owners can set, change and remove limits.</Callout>
      )}
      <LimitsCard source={source} title="All limits" filter={filter} controls={<Filters filter={filter} />} />
    </Page>
  );
}

type LimitFilter = Readonly<{ keyId: string | null; endUser: string | null }>;

/** In the address, for reloads and links. */
function useLimitFilter(): LimitFilter {
  const { key, end_user: endUser } = useSearchParameters();
  return {
    keyId: typeof key === 'string' ? key : null,
    endUser: typeof endUser === 'string' ? endUser : null,
  };
}

const maxSearch = 256;

function Filters({ filter: { keyId, endUser } }: Readonly<{ filter: LimitFilter }>) {
  const replace = useReplaceSearch();
  const keys = useKeys().data?.data;
  const isKnown = keyId === null || keys?.some(({ id }) => id === keyId) === true;
  const change = (part: Readonly<{ key?: string | undefined; end_user?: string | undefined }>) =>
    // Another list begins with its first page.
    replace((before) => ({ ...before, cursor: undefined, page: undefined, ...part }));
  return (
    <div className="flex flex-wrap items-end gap-3 border-b border-line py-3">
      <Field label="Key" isLabelHidden className="w-full sm:w-64">
        <Picker
          value={keyId ?? ''}
          options={[
            { value: '', label: 'Any key' },
            ...(isKnown
              ? []
              : [{ value: keyId ?? '', label: keys === undefined ? 'Loading …' : 'Unknown key' }]),
            ...(keys ?? []).map(({ id, name, hint }) => ({ value: id, label: `${name} (${hint})` })),
          ]}
          onChange={(key) => change({ key: key === '' ? undefined : key })}
        />
      </Field>
      <SearchInput
        label="Find an end user"
        placeholder="End user"
        value={endUser ?? ''}
        onSearch={(text) => change({ end_user: text === '' ? undefined : text.slice(0, maxSearch) })}
        className="w-full sm:w-64"
      />
    </div>
  );
}
