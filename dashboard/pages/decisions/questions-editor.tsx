/** The questions, as a form or as JSON: two views of the same thing. */
import { Plus } from 'lucide-react';
import { Button } from '../../kit/button.tsx';
import { Field } from '../../kit/field.tsx';
import { TextArea } from '../../kit/input.tsx';
import { Segmented } from '../../kit/segmented.tsx';
import { QuestionFields } from './question-fields.tsx';
import { emptyQuestion, moved, type QuestionDraft, replaced, without } from './question-form.ts';
import type { Problem } from './validate.ts';

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
