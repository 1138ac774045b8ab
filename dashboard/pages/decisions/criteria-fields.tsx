/** The criteria of a question: the options of a choice, or the levels of a score, which count from 0. */
import { ArrowDown, ArrowUp, Plus, Trash2 } from 'lucide-react';
import { Button, IconButton } from '../../kit/button.tsx';
import { Field, Input } from '../../kit/field.tsx';
import { moved, type QuestionDraft, replaced, without } from './question-form.ts';
import { useItemFocus } from './use-item-focus.ts';
import { type Path, type Problem, problemAt } from './validate.ts';

type OptionFieldsProps = Readonly<{
  options: QuestionDraft['options'];
  onChange: (options: QuestionDraft['options']) => void;
  problems: readonly Problem[];
  /** The index of the question. */
  at: number;
  path: Path;
}>;

export function OptionFields({ options, onChange, problems, at, path }: OptionFieldsProps) {
  return (
    <CriteriaList
      title="Options"
      addLabel="Add option"
      count={options.length}
      problem={problemAt(problems, ...path)}
      onAdd={() => onChange([...options, { name: '', description: '' }])}
    >
      {options.map((option, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an option has no ID, and its name is being edited.
        <li key={place} className="flex items-start gap-1">
          <div className="grid min-w-0 flex-1 gap-2 sm:grid-cols-[7.5rem_minmax(0,1fr)]">
            <Field
              label={`Name of option ${place + 1}`}
              isLabelHidden
              error={problemAt(problems, 'form', at, 'options', place)}
            >
              <Input
                placeholder="Name"
                autoComplete="off"
                spellCheck={false}
                value={option.name}
                onChange={(event) =>
                  onChange(replaced(options, place, { ...option, name: event.target.value }))
                }
              />
            </Field>
            <Field
              label={`Description of option ${place + 1}`}
              isLabelHidden
              error={problemAt(problems, ...path, option.name)}
            >
              <Input
                placeholder="When it applies"
                autoComplete="off"
                value={option.description}
                onChange={(event) =>
                  onChange(replaced(options, place, { ...option, description: event.target.value }))
                }
              />
            </Field>
          </div>
          <span className="pt-1">
            <MoveButtons
              name={`option ${place + 1}`}
              at={place}
              items={options}
              minCount={2}
              onChange={onChange}
            />
          </span>
        </li>
      ))}
    </CriteriaList>
  );
}

type LevelFieldsProps = Readonly<{
  levels: readonly string[];
  onChange: (levels: readonly string[]) => void;
  problems: readonly Problem[];
  path: Path;
}>;

export function LevelFields({ levels, onChange, problems, path }: LevelFieldsProps) {
  return (
    <CriteriaList
      title="Levels, lowest first"
      addLabel="Add level"
      count={levels.length}
      problem={problemAt(problems, ...path)}
      onAdd={() => onChange([...levels, ''])}
    >
      {levels.map((level, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a level has no ID but its index.
        <li key={place} className="flex items-start gap-2">
          <span aria-hidden className="figures w-4 pt-2 text-right text-ink-faint">
            {place}
          </span>
          <Field
            label={`Description of level ${place}`}
            isLabelHidden
            className="flex-1"
            error={problemAt(problems, ...path, place)}
          >
            <Input
              placeholder="What this level means"
              autoComplete="off"
              value={level}
              onChange={(event) => onChange(replaced(levels, place, event.target.value))}
            />
          </Field>
          <span className="pt-1">
            <MoveButtons name={`level ${place}`} at={place} items={levels} minCount={2} onChange={onChange} />
          </span>
        </li>
      ))}
    </CriteriaList>
  );
}

type CriteriaListProps = Readonly<{
  title: string;
  addLabel: string;
  problem: string | undefined;
  count: number;
  onAdd: () => void;
  children: React.ReactNode;
}>;

function CriteriaList({ title, addLabel, problem, count, onAdd, children }: CriteriaListProps) {
  const focus = useItemFocus<HTMLUListElement>(count);
  const add = () => {
    focus.onAdd();
    onAdd();
  };
  return (
    <div>
      <p className="mb-1.5 text-[0.8125rem] font-medium">{title}</p>
      <ul ref={focus.list} className="space-y-2">
        {children}
      </ul>
      {problem !== undefined && <p className="mt-1.5 text-xs font-medium text-bad">{problem}</p>}
      <Button size="small" variant="quiet" icon={Plus} onClick={add} className="mt-2 -ml-2">
        {addLabel}
      </Button>
    </div>
  );
}

type MoveButtonsProps<Item> = Readonly<{
  /** Such as "option 1". */
  name: string;
  at: number;
  items: readonly Item[];
  /** Fewer items than this are not possible. */
  minCount: number;
  onChange: (items: readonly Item[]) => void;
}>;

export function MoveButtons<Item>({ name, at, items, minCount, onChange }: MoveButtonsProps<Item>) {
  return (
    <span className="flex">
      <IconButton
        icon={ArrowUp}
        label={`Move ${name} up`}
        disabled={at === 0}
        onClick={() => onChange(moved(items, at, -1))}
        className="size-7"
      />
      <IconButton
        icon={ArrowDown}
        label={`Move ${name} down`}
        disabled={at === items.length - 1}
        onClick={() => onChange(moved(items, at, 1))}
        className="size-7"
      />
      <IconButton
        icon={Trash2}
        label={`Remove ${name}`}
        disabled={items.length <= minCount}
        onClick={() => onChange(without(items, at))}
        className="size-7"
      />
    </span>
  );
}
