/**
 * Questions as the form holds them: in order, with names that may still be empty or repeated. A name can be anything,
 * even `__proto__`, so objects are built from entries and never by assignment.
 */
import type { JsonObject as Fields } from '../../kit/json.ts';

export type QuestionType = 'choice' | 'noul' | 'score';

/** Each type keeps its own criteria, so that switching between types loses nothing. */
export type QuestionDraft = Readonly<{
  name: string;
  type: QuestionType;
  instructions: string;
  options: readonly Readonly<{ name: string; description: string }>[];
  levels: readonly string[];
}>;

export const emptyQuestion: QuestionDraft = {
  name: '',
  type: 'choice',
  instructions: '',
  options: [
    { name: '', description: '' },
    { name: '', description: '' },
  ],
  levels: ['', ''],
};

export function questionsOf(drafts: readonly QuestionDraft[]): Fields {
  return Object.fromEntries(drafts.map((draft) => [draft.name, questionOf(draft)]));
}

function questionOf({ type, instructions, options, levels }: QuestionDraft): Fields {
  switch (type) {
    case 'noul':
      return { type, instructions };
    case 'choice':
      return {
        type,
        instructions,
        criteria: Object.fromEntries(options.map(({ name, description }) => [name, description])),
      };
    case 'score':
      return { type, instructions, criteria: [...levels] };
  }
}

/** For valid questions only. */
export function draftsOf(questions: Fields): readonly QuestionDraft[] {
  return Object.entries(questions).map(([name, question]) => draftOf(name, question as Fields));
}

function draftOf(name: string, { type, instructions, criteria }: Fields): QuestionDraft {
  const draft = { ...emptyQuestion, name, instructions: `${instructions}` };
  if (type === 'choice')
    return {
      ...draft,
      type,
      options: Object.entries(criteria as Fields).map(([option, description]) => ({
        name: option,
        description: `${description}`,
      })),
    };
  if (type === 'score') return { ...draft, type, levels: (criteria as readonly unknown[]).map(String) };
  return { ...draft, type: 'noul' };
}

/** Moves an item one step. At either end nothing changes. */
export function moved<Item>(items: readonly Item[], from: number, step: -1 | 1): readonly Item[] {
  const to = from + step;
  const [item, other] = [items[from], items[to]];
  if (item === undefined || other === undefined) return items;
  return items.map((each, at) => (at === from ? other : at === to ? item : each));
}

export function replaced<Item>(items: readonly Item[], at: number, item: Item): readonly Item[] {
  return items.map((each, place) => (place === at ? item : each));
}

export function without<Item>(items: readonly Item[], at: number): readonly Item[] {
  return items.filter((_, place) => place !== at);
}
