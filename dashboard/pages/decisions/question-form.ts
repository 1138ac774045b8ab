/**
 * Questions as a form has them: in an order, with names that may still be empty or twice the same. Names are whatever
 * someone writes, `__proto__` included, so objects are only made by defining their fields and never by assigning.
 */
export const questionTypes = ['choice', 'noul', 'score'] as const;
export type QuestionType = (typeof questionTypes)[number];

/** Each type keeps its own criteria, so that a look at another type loses nothing. */
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

type Fields = Readonly<Record<string, unknown>>;

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

/** For questions that were found to be good. */
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

/** One step up or down; at the ends everything stays. */
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
