/** What someone has written in the playground, for each person and account. */
import { useCallback, useState } from 'react';
import { useAccount, useMe } from '../../api/session.ts';
import { isObject, parseJson } from '../../kit/json.ts';
import { changeWork, openWork } from '../../saved-work.ts';
import type { Turn, UserTurn } from './conversation.ts';
import type { ImageForm, ImageResult } from './image-request.ts';
import type { Wanted } from './selection.ts';
import { emptyParameters, type ParameterForm } from './settings.ts';
import type { Settings } from './settings-panel.tsx';

export type PlaygroundWork = Readonly<{
  /** What was used last, for an address that names neither. */
  wanted: Wanted;
  settings: Settings;
  draft: UserTurn;
  turns: readonly Turn[];
  imageForm: ImageForm;
  imageResults: readonly ImageResult[];
}>;

export const emptyDraft: UserTurn = { kind: 'user', text: '', images: [] };

export function usePlaygroundWork(): [PlaygroundWork, (part: Partial<PlaygroundWork>) => void] {
  const { user } = useMe();
  const { id } = useAccount();
  const key = `playground.${user.id}.${id}`;
  const [work, setWork] = useState(() => openWork(key, restore));
  // A response may end after its page was left, so what is saved is newer than what a page remembers.
  const change = useCallback(
    (part: Partial<PlaygroundWork>) => {
      const next = changeWork<PlaygroundWork>(key, part, textOf);
      if (next !== null) setWork(next);
    },
    [key],
  );
  return [work, change];
}

/** Conversations and images are too large for the browser's storage; what was typed is not. */
export function textOf({ wanted, settings, draft, imageForm }: PlaygroundWork): string {
  return JSON.stringify({ wanted, settings, draft: draft.text, imageForm });
}

/** Any text is accepted: an older version of this page may have written it. */
export function restore(text: string | null): PlaygroundWork {
  const stored = fieldsOf(text === null ? null : parseJson(text).value);
  const settings = fieldsOf(stored.settings);
  const wanted = fieldsOf(stored.wanted);
  const imageForm = fieldsOf(stored.imageForm);
  return {
    wanted: { model: stringOf(wanted.model), key: stringOf(wanted.key) },
    settings: {
      system: stringOf(settings.system),
      parameters: parametersIn(fieldsOf(settings.parameters)),
      tools: stringOf(settings.tools),
    },
    draft: { ...emptyDraft, text: stringOf(stored.draft) },
    turns: [],
    imageForm: {
      prompt: stringOf(imageForm.prompt),
      size: stringOf(imageForm.size),
      count: stringOf(imageForm.count),
    },
    imageResults: [],
  };
}

function parametersIn(stored: Fields): ParameterForm {
  const known = Object.entries(emptyParameters).map(([name, value]) => [name, stored[name] ?? value]);
  const isIntact = known.every(([, value]) => typeof value === 'string');
  return isIntact ? (Object.fromEntries(known) as ParameterForm) : emptyParameters;
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
