/** The draft of a decision: the state, the questions in either view, and why they cannot be sent yet. */
import { useEffect, useState } from 'react';
import { useMe } from '../../api/session.ts';
import { type Example, exampleIn, examples } from './examples.ts';
import { draftsOf, emptyQuestion, type QuestionDraft, questionsOf } from './question-form.ts';
import type { QuestionsView } from './questions-editor.tsx';
import {
  bodyText,
  describeProblem,
  formProblems,
  type Problem,
  readQuestions,
  readState,
  sizeProblem,
} from './validate.ts';

export type DecisionDraft = Readonly<{
  stateText: string;
  setStateText: (text: string) => void;
  stateProblem: string | null;
  view: QuestionsView;
  setView: (view: QuestionsView) => void;
  /** Why the form cannot show the questions. */
  viewProblem: string | null;
  drafts: readonly QuestionDraft[];
  setDrafts: (drafts: readonly QuestionDraft[]) => void;
  questionsText: string;
  setQuestionsText: (text: string) => void;
  questionProblems: readonly Problem[];
  /** What to send, exactly as written; null while something is wrong, which `obstacle` describes. */
  body: string | null;
  obstacle: string | null;
  /** The example on the screen, or null once it was changed. */
  example: Example | null;
  load: (example: Example) => void;
}>;

type Written = Pick<DecisionDraft, 'stateText' | 'view' | 'drafts' | 'questionsText'>;

/** The drafts since the app was loaded, by user, for when they return from another page. */
const savedDrafts = new Map<string, Written>();

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
  const [start] = useState(() => savedDrafts.get(user.id) ?? firstDraft());
  const [stateText, setStateText] = useState(start.stateText);
  const [view, setViewOnly] = useState(start.view);
  const [viewProblem, setViewProblem] = useState<string | null>(null);
  const [drafts, setDrafts] = useState(start.drafts);
  const [questionsText, setQuestionsText] = useState(start.questionsText);
  useEffect(() => {
    savedDrafts.set(user.id, { stateText, view, drafts, questionsText });
  }, [user.id, stateText, view, drafts, questionsText]);

  const { problems: stateProblems } = readState(stateText);
  const written = view === 'json' ? readQuestions(questionsText) : null;
  const questionProblems = written?.problems ?? formProblems(drafts);
  const [stateProblem] = stateProblems;
  const [questionProblem] = questionProblems;
  const isValid = stateProblem === undefined && questionProblem === undefined;
  const questionsJson = written === null ? JSON.stringify(questionsOf(drafts)) : questionsText;
  const body = bodyText(model, stateText, questionsJson);
  const tooLarge = isValid ? sizeProblem(body) : null;

  const setView = (next: QuestionsView) => {
    setViewProblem(null);
    if (next === 'json') setQuestionsText(pretty(questionsOf(drafts)));
    // The form cannot hold invalid questions, and they must not be lost by switching to it.
    else if (written?.value && questionProblem === undefined) setDrafts(draftsOf(written.value));
    else {
      setViewProblem('The form can show the questions once the JSON is valid.');
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
    body: isValid && tooLarge === null ? body : null,
    obstacle:
      (stateProblem && 'fix the state.') ??
      (questionProblem && `fix the questions (${describeProblem(readable(questionProblem))}).`) ??
      tooLarge,
    example: exampleIn(stateText, questionsJson),
    load,
  };
}

/** Form problems name a question by its index, which people count from 1. */
function readable(problem: Problem): Problem {
  const [root, at] = problem.path;
  return root === 'form' && typeof at === 'number'
    ? { ...problem, path: [root, `question ${at + 1}`] }
    : problem;
}
