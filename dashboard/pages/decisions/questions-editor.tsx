/** The questions, edited as a form or as JSON. */
import { Plus } from 'lucide-react';
import { Button } from '../../kit/button.tsx';
import { Segmented } from '../../kit/choice.tsx';
import { Field, Input, Select, TextArea } from '../../kit/field.tsx';
import { LevelFields, MoveButtons, OptionFields } from './criteria-fields.tsx';
import { emptyQuestion, type QuestionDraft, type QuestionType, replaced } from './question-form.ts';
import { useItemFocus } from './use-item-focus.ts';
import { describeProblem, type Problem, problemAt } from './validate.ts';

export type QuestionsView = 'form' | 'json';

type ViewSwitchProps = Readonly<{
  view: QuestionsView;
  onChange: (view: QuestionsView) => void;
}>;

export function QuestionsViewSwitch({ view, onChange }: ViewSwitchProps) {
  return (
    <Segmented
      label="Edit questions as"
      value={view}
      options={[
        { value: 'form', label: 'Form' },
        { value: 'json', label: 'JSON' },
      ]}
      onChange={onChange}
    />
  );
}

type QuestionsFormProps = Readonly<{
  drafts: readonly QuestionDraft[];
  onChange: (drafts: readonly QuestionDraft[]) => void;
  problems: readonly Problem[];
}>;

export function QuestionsForm({ drafts, onChange, problems }: QuestionsFormProps) {
  const { list, onAdd } = useItemFocus<HTMLDivElement>(drafts.length);
  const add = () => {
    onAdd();
    onChange([...drafts, emptyQuestion]);
  };
  return (
    <div className="space-y-4">
      <div ref={list} className="space-y-4">
        {drafts.map((draft, at) => (
          <QuestionFields
            // biome-ignore lint/suspicious/noArrayIndexKey: a question has no ID, and its name is being edited.
            key={at}
            all={drafts}
            at={at}
            draft={draft}
            problems={problems}
            onChange={(next) => onChange(replaced(drafts, at, next))}
            onMove={onChange}
          />
        ))}
      </div>
      <Button icon={Plus} onClick={add}>
        Add question
      </Button>
    </div>
  );
}

type QuestionsJsonProps = Readonly<{
  text: string;
  onChange: (text: string) => void;
  problems: readonly Problem[];
}>;

export function QuestionsJson({ text, onChange, problems }: QuestionsJsonProps) {
  return (
    <Field label="Questions as JSON" isLabelHidden error={problems[0] && describeProblem(problems[0])}>
      <TextArea isCode rows={22} value={text} onChange={(event) => onChange(event.target.value)} />
    </Field>
  );
}

const typeOptions: readonly Readonly<{ value: QuestionType; label: string }>[] = [
  { value: 'choice', label: 'Multiple choice' },
  { value: 'noul', label: 'True or false' },
  { value: 'score', label: 'Score' },
];

type QuestionFieldsProps = Readonly<{
  all: readonly QuestionDraft[];
  at: number;
  draft: QuestionDraft;
  /** Of all questions. */
  problems: readonly Problem[];
  onChange: (draft: QuestionDraft) => void;
  onMove: (all: readonly QuestionDraft[]) => void;
}>;

/** One question: its name, type, instructions and criteria. */
function QuestionFields(props: QuestionFieldsProps) {
  const { all, at, draft, problems, onChange, onMove } = props;
  const change = (part: Partial<QuestionDraft>) => onChange({ ...draft, ...part });
  const place = ['questions', draft.name] as const;
  const title = `Question ${at + 1}`;
  return (
    <fieldset className="min-w-0 rounded-md border border-line">
      <legend className="sr-only">{title}</legend>
      <div className="flex items-center justify-between gap-2 border-b border-line bg-sunken py-1 pr-1 pl-3">
        <span aria-hidden className="text-xs font-medium text-ink-faint">
          {title}
        </span>
        <MoveButtons name={title} at={at} items={all} minCount={1} onChange={onMove} />
      </div>
      <div className="space-y-4 p-3">
        <div className="grid gap-3 sm:grid-cols-2">
          <Field label="Name" error={problemAt(problems, 'form', at, 'name')}>
            <Input
              autoComplete="off"
              spellCheck={false}
              value={draft.name}
              onChange={(event) => change({ name: event.target.value })}
            />
          </Field>
          <Field label="Type">
            <Select value={draft.type} options={typeOptions} onChange={(type) => change({ type })} />
          </Field>
        </div>
        <Field
          label={draft.type === 'noul' ? 'Statement' : 'Instructions'}
          error={problemAt(problems, ...place, 'instructions')}
        >
          <TextArea
            rows={2}
            value={draft.instructions}
            onChange={(event) => change({ instructions: event.target.value })}
          />
        </Field>
        {draft.type === 'choice' && (
          <OptionFields
            options={draft.options}
            onChange={(options) => change({ options })}
            problems={problems}
            at={at}
            path={[...place, 'criteria']}
          />
        )}
        {draft.type === 'score' && (
          <LevelFields
            levels={draft.levels}
            onChange={(levels) => change({ levels })}
            problems={problems}
            path={[...place, 'criteria']}
          />
        )}
      </div>
    </fieldset>
  );
}
