/** What is being written: the state, the questions in either view, and what keeps them from being sent. */
import { useEffect, useState } from 'react';
import { useMe } from '../../api/session.ts';
import { type Example, exampleIn, examples } from './examples.ts';
import { draftsOf, emptyQuestion, type QuestionDraft, questionsOf } from './question-form.ts';
import { inWords, type QuestionsView } from './questions-editor.tsx';
import { bodyText, formProblems, type Problem, readQuestions, readState, sizeProblem } from './validate.ts';

export type DecisionDraft = Readonly<{
  stateText: string;
  setStateText: (text: string) => void;
  stateProblem: string | null;
  view: QuestionsView;
  setView: (view: QuestionsView) => void;
  /** Why the other view cannot show what is written. */
  viewProblem: string | null;
  drafts: readonly QuestionDraft[];
  setDrafts: (drafts: readonly QuestionDraft[]) => void;
  questionsText: string;
  setQuestionsText: (text: string) => void;
  questionProblems: readonly Problem[];
  /** What to send, as it is written; null as long as something is wrong with it, which `obstacle` then says. */
  body: string | null;
  obstacle: string | null;
  /** The example that is shown as it is, or null once something in it was changed. */
  example: Example | null;
  load: (example: Example) => void;
}>;

type Written = Pick<DecisionDraft, 'stateText' | 'view' | 'drafts' | 'questionsText'>;

/** What each person wrote since the page was opened, for when they come back from another page. */
const kept = new Map<string, Written>();

const pretty = (value: unknown) => JSON.stringify(value, null, 2);

function firstDraft(): Written {
  const [first] = examples;
  return {
    stateText: pretty(first?.state ?? {}),
    view: 'form',
    drafts: first === undefined ? [emptyQuestion] : draftsOf(first.questions),
    questionsText: '',
  };
}

export function useDraft(model: string): DecisionDraft {
  const { user } = useMe();
  const [start] = useState(() => kept.get(user.id) ?? firstDraft());
  const [stateText, setStateText] = useState(start.stateText);
  const [view, setViewOnly] = useState(start.view);
  const [viewProblem, setViewProblem] = useState<string | null>(null);
  const [drafts, setDrafts] = useState(start.drafts);
  const [questionsText, setQuestionsText] = useState(start.questionsText);
  useEffect(() => {
    kept.set(user.id, { stateText, view, drafts, questionsText });
  }, [user.id, stateText, view, drafts, questionsText]);

  const { problems: stateProblems } = readState(stateText);
  const written = view === 'json' ? readQuestions(questionsText) : null;
  const questionProblems = written?.problems ?? formProblems(drafts);
  const [stateProblem] = stateProblems;
  const [questionProblem] = questionProblems;
  const isWhole = stateProblem === undefined && questionProblem === undefined;
  const questionsJson = written === null ? JSON.stringify(questionsOf(drafts)) : questionsText;
  const body = bodyText(model, stateText, questionsJson);
  const tooLarge = isWhole ? sizeProblem(body) : null;

  const setView = (next: QuestionsView) => {
    setViewProblem(null);
    if (next === 'json') setQuestionsText(pretty(questionsOf(drafts)));
    // The form has no place for what is not a good question, so nothing is thrown away by showing it there.
    else if (written?.value && questionProblem === undefined) setDrafts(draftsOf(written.value));
    else {
      setViewProblem('The form can show the questions once the JSON is free of mistakes.');
      return;
    }
    setViewOnly(next);
  };
  const load = (example: Example) => {
    setStateText(pretty(example.state));
    setDrafts(draftsOf(example.questions));
    setQuestionsText(pretty(example.questions));
    setViewProblem(null);
  };
  return {
    stateText,
    setStateText,
    stateProblem: stateProblem?.message ?? null,
    view,
    setView,
    viewProblem,
    drafts,
    setDrafts,
    questionsText,
    setQuestionsText,
    questionProblems,
    body: isWhole && tooLarge === null ? body : null,
    obstacle:
      (stateProblem && 'correct the state.') ??
      (questionProblem && `correct the questions (${inWords(readable(questionProblem))}).`) ??
      tooLarge,
    example: exampleIn(stateText, questionsJson),
    load,
  };
}

/** Problems of the form name a question by its place, which people count from 1 on. */
function readable(problem: Problem): Problem {
  const [root, at] = problem.path;
  return root === 'form' && typeof at === 'number'
    ? { ...problem, path: [root, `question ${at + 1}`] }
    : problem;
}
