/** Whom a request was for, as it said itself: in a list, in detail, and as filters. */
import { Link } from '@tanstack/react-router';
import { X } from 'lucide-react';
import type { GenerationRow } from '../../../src/console/contract.ts';
import { Button } from '../../kit/button.tsx';
import { Fact } from '../../kit/card.tsx';
import { textLinkClass } from '../../kit/class-names.ts';
import { Field } from '../../kit/field.tsx';
import { Dash } from '../../kit/figures.tsx';
import { SearchInput } from '../../kit/search-input.tsx';
import type { Column } from '../../kit/table.tsx';
import { type AttributionFilter, isTag } from './filter.ts';

type Attributed = Pick<GenerationRow, 'attribution'>;

/** None for a list in which nothing is known. */
export function attributionColumns<Row extends Attributed>(
  rows: readonly Row[] | undefined,
): readonly Column<Row>[] {
  return rows?.some(({ attribution }) => attribution !== undefined) === true ? [attributionColumn] : [];
}

export const attributionColumn: Column<Attributed> = {
  key: 'attribution',
  header: 'For',
  cell: ({ attribution }) => {
    if (attribution === undefined) return <Dash />;
    const { end_user: endUser, session, tags } = attribution;
    const lines = [session !== null && `session ${session}`, ...tagsOf(tags)].filter(
      (line) => line !== false,
    );
    return (
      <span className="block min-w-0 md:max-w-44">
        {endUser !== null && (
          <bdi title={endUser} className="block truncate">
            {endUser}
          </bdi>
        )}
        {lines.length > 0 && (
          <bdi title={lines.join('\n')} className="block truncate text-xs text-ink-faint">
            {lines.join(', ')}
          </bdi>
        )}
      </span>
    );
  },
};

function tagsOf(tags: Readonly<Record<string, string>>): string[] {
  return Object.entries(tags).map(([name, value]) => `${name}=${value}`);
}

type FactsProps = Readonly<{
  attribution: NonNullable<Attributed['attribution']>;
  /** Where the others are listed. */
  list: '/generations' | '/operator/generations';
}>;

export function AttributionFacts({ attribution, list }: FactsProps) {
  const { end_user: endUser, session, tags } = attribution;
  return (
    <>
      {endUser !== null && (
        <Fact name="End user">
          <LabelLink list={list} search={{ end_user: endUser }} label={endUser} />
        </Fact>
      )}
      {session !== null && (
        <Fact name="Session">
          <LabelLink list={list} search={{ session }} label={session} />
        </Fact>
      )}
      {Object.keys(tags).length > 0 && (
        <Fact name="Tags">
          <ul>
            {tagsOf(tags).map((tag) => (
              <li key={tag}>
                <LabelLink list={list} search={{ tag }} label={tag} />
              </li>
            ))}
          </ul>
        </Fact>
      )}
    </>
  );
}

type LabelLinkProps = Pick<FactsProps, 'list'> &
  Readonly<{ search: Readonly<Record<string, string>>; label: string }>;

function LabelLink({ list, search, label }: LabelLinkProps) {
  return (
    <Link to={list} search={search} className={textLinkClass}>
      <bdi>{label}</bdi>
    </Link>
  );
}

type AttributionFieldsProps = Readonly<{
  filter: AttributionFilter;
  onChange: (changed: Partial<AttributionFilter>) => void;
  /** For all filters of the page; null when none is set. */
  onClear: (() => void) | null;
}>;

export function AttributionFields({ filter, onChange, onClear }: AttributionFieldsProps) {
  return (
    <>
      <Field label="End user" className="w-full sm:w-56">
        <SearchInput
          label="End user"
          placeholder="The exact name"
          value={filter.end_user ?? ''}
          onSearch={(text) => onChange({ end_user: text || null })}
        />
      </Field>
      <Field
        label="Tag"
        error={filter.tag === null || isTag(filter.tag) ? null : 'Write it as name=value.'}
        className="w-[calc(50%-0.375rem)] sm:w-56"
      >
        <SearchInput
          label="Tag"
          placeholder="name=value"
          value={filter.tag ?? ''}
          onSearch={(text) => onChange({ tag: text || null })}
        />
      </Field>
      <Field label="Session" className="w-[calc(50%-0.375rem)] sm:w-56">
        <SearchInput
          label="Session"
          placeholder="Its ID"
          value={filter.session ?? ''}
          onSearch={(text) => onChange({ session: text || null })}
        />
      </Field>
      {onClear !== null && (
        // Level with the controls, whose labels are above them.
        <span className="sm:pt-6.5">
          <Button variant="quiet" icon={X} onClick={onClear}>
            Clear filters
          </Button>
        </span>
      )}
    </>
  );
}
