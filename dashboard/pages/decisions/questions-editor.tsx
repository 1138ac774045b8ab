/** The questions, as a form or as JSON: two views of the same thing. */
import { ArrowDown, ArrowUp, Plus, Trash2 } from 'lucide-react';
import { Button, IconButton } from '../../kit/button.tsx';
import { Segmented } from '../../kit/choice.tsx';
import { Field, Input, Select, TextArea } from '../../kit/field.tsx';
import { LevelFields, OptionFields } from './criteria-fields.tsx';
import {
  emptyQuestion,
  moved,
  type QuestionDraft,
  type QuestionType,
  questionTypes,
  replaced,
  without,
} from './question-form.ts';
import { type Problem, problemAt } from './validate.ts';

export type QuestionsView = 'form' | 'json';

type ViewSwitchProps = Readonly<{
  view: QuestionsView;
  onChange: (view: QuestionsView) => void;
}>;

export function QuestionsViewSwitch({ view, onChange }: ViewSwitchProps) {
  return (
    <Segmented
      label="How to write the questions"
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
  return (
    <div className="space-y-4">
      {drafts.map((draft, at) => (
        <QuestionFields
          // biome-ignore lint/suspicious/noArrayIndexKey: a question has no other name than the one being written.
          key={at}
          draft={draft}
          at={at}
          count={drafts.length}
          problems={problems}
          onChange={(next) => onChange(replaced(drafts, at, next))}
          onMove={(step) => onChange(moved(drafts, at, step))}
          onRemove={() => onChange(without(drafts, at))}
        />
      ))}
      <Button icon={Plus} onClick={() => onChange([...drafts, emptyQuestion])}>
        Add a question
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
    <Field label="Questions as JSON" isLabelHidden error={problems[0] && inWords(problems[0])}>
      <TextArea isCode rows={22} value={text} onChange={(event) => onChange(event.target.value)} />
    </Field>
  );
}

/** `team › criteria › billing: Describe this option.` */
export function inWords({ path, message }: Problem): string {
  const place = path.slice(1).join(' › ');
  return place === '' ? message : `${place}: ${message}`;
}

const typeLabels: Readonly<Record<QuestionType, string>> = {
  choice: 'Choice of options',
  noul: 'Yes or no',
  score: 'Score on a scale',
};

type QuestionFieldsProps = Readonly<{
  draft: QuestionDraft;
  at: number;
  count: number;
  /** Of all questions. */
  problems: readonly Problem[];
  onChange: (draft: QuestionDraft) => void;
  onMove: (step: -1 | 1) => void;
  onRemove: () => void;
}>;

/** One question of the form: its name, its type, what is asked, and by what it is answered. */
export function QuestionFields(props: QuestionFieldsProps) {
  const { draft, at, count, problems, onChange, onMove, onRemove } = props;
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
        <span className="flex">
          <IconButton
            icon={ArrowUp}
            label={`Move ${title} up`}
            disabled={at === 0}
            onClick={() => onMove(-1)}
          />
          <IconButton
            icon={ArrowDown}
            label={`Move ${title} down`}
            disabled={at === count - 1}
            onClick={() => onMove(1)}
          />
          <IconButton icon={Trash2} label={`Remove ${title}`} disabled={count === 1} onClick={onRemove} />
        </span>
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
            <Select
              value={draft.type}
              onChange={(event) => {
                const type = questionTypes.find((candidate) => candidate === event.target.value);
                if (type !== undefined) change({ type });
              }}
            >
              {questionTypes.map((type) => (
                <option key={type} value={type}>
                  {typeLabels[type]}
                </option>
              ))}
            </Select>
          </Field>
        </div>
        <Field
          label={draft.type === 'noul' ? 'Statement that may be true' : 'Instructions'}
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
