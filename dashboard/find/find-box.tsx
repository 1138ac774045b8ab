/** The box that finds anything: a combobox in a dialog, with the last places, or else the pages, while it is empty. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { Search } from 'lucide-react';
import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef, useState } from 'react';
import type { AccountFindings, OperatorFindings } from '../../src/console/find-contract.ts';
import { useSearchParameters } from '../address.ts';
import { get, problemOf } from '../api/client.ts';
import { accountPath, recentPlacesKey, useMe, useSelectedAccount } from '../api/session.ts';
import { formatCount } from '../kit/format-figures.ts';
import { groupsFor, operatorGroups } from '../layout/destinations.ts';
import { readStored, writeStored } from '../storage.ts';
import {
  inAccount,
  isOutside,
  type Place,
  pagesFor,
  placesAnywhere,
  placesInAccount,
  questionFor,
  readRecent,
  requestIdIn,
  requestPlace,
  timesIn,
  withoutRepeats,
  withRecent,
} from './places.ts';

const pauseMs = 120;

export function FindBox({ onClose }: Readonly<{ onClose: () => void }>) {
  const [text, setText] = useState('');
  const [activeAt, setActiveAt] = useState(0);
  const { places, isBusy, error } = usePlaces(text);
  const go = useGo(onClose);
  const id = useId();
  const active = places[Math.min(activeAt, places.length - 1)];
  const pressKey = (event: KeyboardEvent) => {
    const next = stepTo(event.key, activeAt, places.length);
    if (next !== null) {
      event.preventDefault();
      setActiveAt(next);
    } else if (event.key === 'Enter' && !event.nativeEvent.isComposing) {
      event.preventDefault();
      if (active !== undefined) go(active);
    }
  };
  return (
    <FindDialog onClose={onClose}>
      <div className="flex items-center gap-2.5 border-b border-line px-4">
        <Search aria-hidden className="size-4 shrink-0 text-ink-faint" />
        <input
          role="combobox"
          aria-label="Find anything"
          aria-expanded={places.length > 0}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={active === undefined ? undefined : `${id}-${places.indexOf(active)}`}
          // biome-ignore lint/a11y/noAutofocus: it is what the dialog is for.
          autoFocus
          autoComplete="off"
          spellCheck={false}
          maxLength={maxTyped}
          placeholder="Page, key, model, request ID, user …"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setActiveAt(0);
          }}
          onKeyDown={pressKey}
          className="h-12 w-full min-w-0 bg-transparent text-base outline-none md:text-sm"
        />
      </div>
      <PlaceList id={id} places={places} active={active} onGo={go} onPoint={setActiveAt} />
      <p role="status" className="px-4 py-2 text-xs text-ink-faint empty:hidden">
        {statusOf(text, places.length, isBusy, error)}
      </p>
    </FindDialog>
  );
}

const maxTyped = 2_000;

function stepTo(key: string, from: number, count: number): number | null {
  if (count === 0) return null;
  if (key === 'ArrowDown') return (from + 1) % count;
  if (key === 'ArrowUp') return (from + count - 1) % count;
  return null;
}

function statusOf(text: string, count: number, isBusy: boolean, error: unknown): string {
  if (error !== null) return problemOf(error).message;
  if (text.trim() === '') return '';
  if (isBusy) return 'Searching …';
  if (count === 0) return 'Nothing was found.';
  return count === 1 ? '1 place' : `${formatCount(count)} places`;
}

/** Near the top, so that the list can grow downwards; on a phone it takes the width of the screen. */
function FindDialog({ onClose, children }: Readonly<{ onClose: () => void; children: React.ReactNode }>) {
  const ref = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      aria-label="Find anything"
      onClose={() => {
        if (ref.current !== null) onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
      className="mx-auto mt-[10vh] mb-auto w-[calc(100%-1.5rem)] max-w-xl animate-appear overflow-hidden rounded-lg bg-raised p-0 text-ink shadow-float max-md:mt-3"
    >
      {children}
    </dialog>
  );
}

type PlaceListProps = Readonly<{
  id: string;
  places: readonly Place[];
  active: Place | undefined;
  onGo: (place: Place) => void;
  onPoint: (at: number) => void;
}>;

function PlaceList({ id, places, active, onGo, onPoint }: PlaceListProps) {
  const list = useRef<HTMLDivElement>(null);
  const activeAt = active === undefined ? -1 : places.indexOf(active);
  useEffect(() => {
    list.current?.querySelector(`[data-at="${activeAt}"]`)?.scrollIntoView({ block: 'nearest' });
  }, [activeAt]);
  return (
    <div
      ref={list}
      id={`${id}-list`}
      role="listbox"
      aria-label="Places"
      className="max-h-[min(24rem,60dvh)] overflow-y-auto px-2 py-1 empty:hidden"
    >
      {[...Map.groupBy(places, ({ group }) => group)].map(([group, members]) => (
        // biome-ignore lint/a11y/useSemanticElements: a list of options cannot contain a fieldset.
        <div key={group} role="group" aria-label={group} className="py-1">
          <p aria-hidden className="px-2 pb-0.5 text-2xs text-ink-faint">
            {group}
          </p>
          {members.map((place) => {
            const at = places.indexOf(place);
            return (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the combobox.
              // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the combobox.
              <div
                key={`${place.href} ${place.label}`}
                role="option"
                id={`${id}-${at}`}
                data-at={at}
                aria-selected={at === activeAt}
                onPointerMove={() => onPoint(at)}
                onClick={() => onGo(place)}
                className="flex h-8 cursor-pointer items-center gap-2.5 rounded-md px-2 aria-selected:bg-hover max-md:h-10"
              >
                <span className="min-w-0 truncate">{place.label}</span>
                <span className="ml-auto min-w-0 shrink-[2] truncate text-xs text-ink-faint">
                  {place.detail}
                </span>
              </div>
            );
          })}
        </div>
      ))}
    </div>
  );
}

function useGo(onClose: () => void) {
  const router = useRouter();
  return (place: Place) => {
    const recent = readRecent(readStored(recentPlacesKey));
    writeStored(recentPlacesKey, JSON.stringify(withRecent(recent, { ...place, group: recentGroup })));
    onClose();
    if (isOutside(place.href)) location.assign(place.href);
    else router.history.push(place.href);
  };
}

const recentGroup = 'Recent';

/** What to list: at once what is known here, and after a pause what the gateway finds. */
function usePlaces(text: string): Readonly<{ places: readonly Place[]; isBusy: boolean; error: unknown }> {
  const { user } = useMe();
  const account = useSelectedAccount();
  const times = timesIn(useSearchParameters());
  const question = questionFor(text);
  const asked = usePaused(question);
  const here = useFindings<AccountFindings>(account && accountPath(account.id, 'find'), asked);
  const anywhere = useFindings<OperatorFindings>(
    user.is_operator ? '/api/console/operator/find' : null,
    asked,
  );
  const ofAccount = (found: readonly Place[]) =>
    account === null ? [] : found.map((place) => inAccount(place, account.id));
  const pagesWith = (words: string) => [
    ...ofAccount(pagesFor(words, account === null ? [] : groupsFor(account).flat(), 'Pages')),
    ...(user.is_operator ? pagesFor(words, operatorGroups.flat(), 'Pages for operators') : []),
  ];
  if (question === '') {
    const recent = readRecent(readStored(recentPlacesKey));
    return { places: recent.length === 0 ? pagesWith('') : recent, isBusy: false, error: null };
  }
  const requestId = requestIdIn(text);
  const places = [
    ...(requestId === null ? [] : [requestPlace(requestId, user.is_operator)]),
    ...pagesWith(text.trim()),
    ...ofAccount(here.data === undefined ? [] : placesInAccount(here.data, times)),
    ...(anywhere.data === undefined ? [] : placesAnywhere(anywhere.data, times)),
  ];
  return {
    places: withoutRepeats(places),
    isBusy: asked !== question || here.isFetching || anywhere.isFetching,
    error: here.error ?? anywhere.error,
  };
}

function useFindings<Findings>(path: string | null, question: string) {
  return useQuery<Findings>({
    queryKey: ['find', path, question],
    queryFn: ({ signal }) => get<Findings>(path ?? '', { query: { q: question }, signal }),
    enabled: path !== null && question !== '',
    placeholderData: keepPreviousData,
    retry: false,
  });
}

/** The value once it has not changed for a moment. */
function usePaused(value: string): string {
  const [paused, setPaused] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(value), pauseMs);
    return () => clearTimeout(timer);
  }, [value]);
  return paused;
}
