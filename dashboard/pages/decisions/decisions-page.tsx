/** Questions about a state, answered with probabilities. */
import { Play, Scale, Square } from 'lucide-react';
import { useState } from 'react';
import { useMe } from '../../api/session.ts';
import { Button } from '../../kit/button.tsx';
import { Callout } from '../../kit/callout.tsx';
import { Card } from '../../kit/card.tsx';
import { ConfirmDialog } from '../../kit/dialog.tsx';
import { Field, Select, TextArea } from '../../kit/field.tsx';
import { Page } from '../../kit/page.tsx';
import { EmptyState, SkeletonLines } from '../../kit/states.tsx';
import { type Example, examples, normalizedJson } from './examples.ts';
import { DecisionFailureView, DecisionResult, useSecondsLeft } from './outcome-view.tsx';
import { QuestionsForm, QuestionsJson, QuestionsViewSwitch } from './questions-editor.tsx';
import { adviceForFailure, type DecisionRun, useDecision } from './run-decision.ts';
import { type DecisionDraft, useDraft } from './use-draft.ts';

const shortcut = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘ + Enter' : 'Ctrl + Enter';

/** The models of the sandbox that the demo starts. */
const sandboxPrefix = 'sandbox-';

export function DecisionsPage() {
  const { decisions } = useMe();
  const draft = useDraft(decisions.model ?? '');
  const decision = useDecision();
  const run = useStart(draft, decision);
  const start = decisions.is_configured ? run : null;
  return (
    <Page
      title="Decisions"
      description="Describe a state, ask typed questions about it, and see how likely each answer is."
      actions={<ExampleChooser draft={draft} />}
    >
      {!decisions.is_configured && (
        <Callout tone="warn" title="Decisions are not set up on this gateway">
          {adviceForFailure('not_configured', 503)}
        </Callout>
      )}
      {decisions.model?.startsWith(sandboxPrefix) === true && (
        <Callout title="The sandbox makes up its answers">
          The probabilities are a hash of the state and the questions, and mean nothing. For real answers, the
          operator of this gateway has to set up a decision provider or a chat model.
        </Callout>
      )}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the keys are a shortcut for a button. */}
      <div
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          start?.();
        }}
        className="grid items-start gap-6 lg:grid-cols-[minmax(0,1.2fr)_minmax(0,1fr)]"
      >
        <div className="space-y-6">
          <StateCard draft={draft} />
          <QuestionsCard draft={draft} />
        </div>
        <div className="lg:sticky lg:top-6">
          <ResultCard draft={draft} decision={decision} start={start} />
        </div>
      </div>
    </Page>
  );
}

function StateCard({ draft }: Readonly<{ draft: DecisionDraft }>) {
  return (
    <Card title="State" description="What is known, as a JSON object.">
      <Field label="State as JSON" isLabelHidden error={draft.stateProblem}>
        <TextArea
          isCode
          rows={11}
          value={draft.stateText}
          onChange={(event) => draft.setStateText(event.target.value)}
        />
      </Field>
    </Card>
  );
}

function QuestionsCard({ draft }: Readonly<{ draft: DecisionDraft }>) {
  return (
    <Card
      title="Questions"
      description="What to decide."
      actions={<QuestionsViewSwitch view={draft.view} onChange={draft.setView} />}
    >
      {draft.viewProblem !== null && (
        <div className="mb-4">
          <Callout tone="warn" isUrgent>
            {draft.viewProblem}
          </Callout>
        </div>
      )}
      {draft.view === 'form' ? (
        <QuestionsForm drafts={draft.drafts} onChange={draft.setDrafts} problems={draft.questionProblems} />
      ) : (
        <QuestionsJson
          text={draft.questionsText}
          onChange={draft.setQuestionsText}
          problems={draft.questionProblems}
        />
      )}
    </Card>
  );
}

/** Runs the draft; null while it cannot be run. */
function useStart({ body }: DecisionDraft, { outcome, isRunning, run }: DecisionRun): (() => void) | null {
  const failure = outcome?.kind === 'failed' ? outcome : null;
  const wait = useSecondsLeft(failure?.failedAt ?? 0, failure?.failure.retry_after_seconds);
  return body === null || isRunning || (wait ?? 0) > 0 ? null : () => run(body);
}

type ResultCardProps = Readonly<{
  draft: DecisionDraft;
  decision: DecisionRun;
  start: (() => void) | null;
}>;

function ResultCard({ draft, decision, start }: ResultCardProps) {
  const { outcome, decidedBody, isRunning, cancel } = decision;
  const isOld = draft.body === null || normalizedJson(draft.body) !== normalizedJson(decidedBody ?? '');
  return (
    <Card
      title="Answers"
      actions={
        <>
          {!isRunning && <kbd className="font-sans text-xs text-ink-faint max-sm:hidden">{shortcut}</kbd>}
          {/* One takes the place of the other, and with it the focus. */}
          {isRunning ? (
            <Button icon={Square} onClick={cancel}>
              Cancel
            </Button>
          ) : (
            <Button variant="primary" icon={Play} disabled={start === null} onClick={() => start?.()}>
              Run
            </Button>
          )}
        </>
      }
    >
      <div aria-live="polite" aria-busy={isRunning} className="min-h-64">
        {draft.obstacle !== null && (
          <p className="mb-4 text-[0.8125rem] text-ink-soft">{`Before you can run it: ${draft.obstacle}`}</p>
        )}
        {isRunning ? (
          <SkeletonLines count={8} />
        ) : outcome === null ? (
          <EmptyState icon={Scale} title="No answers yet">
            Run the decision to see its answers here. It is free of charge.
          </EmptyState>
        ) : outcome.kind === 'answered' ? (
          <>
            {isOld && <p className="mb-4 font-medium">These answers are from before your last change.</p>}
            <div className={isOld ? 'opacity-60' : ''}>
              <DecisionResult body={outcome.body} />
            </div>
          </>
        ) : (
          <DecisionFailureView key={outcome.failedAt} failure={outcome.failure} failedAt={outcome.failedAt} />
        )}
      </div>
    </Card>
  );
}

/** Decisions to start from. A person's own changes are not discarded without asking. */
function ExampleChooser({ draft }: Readonly<{ draft: DecisionDraft }>) {
  const [wanted, setWanted] = useState<Example | null>(null);
  const choose = (id: string) => {
    const example = examples.find((candidate) => candidate.id === id);
    if (example === undefined) return;
    if (draft.example === null) setWanted(example);
    else draft.load(example);
  };
  return (
    <>
      <Select
        aria-label="Start from an example"
        className="w-72 max-w-full"
        value={draft.example?.id ?? ''}
        options={[
          ...(draft.example === null ? [{ value: '', label: 'Custom' }] : []),
          ...examples.map(({ id, label }) => ({ value: id, label: `Example: ${label}` })),
        ]}
        onChange={choose}
      />
      {wanted !== null && (
        <ConfirmDialog
          title="Replace your changes?"
          confirmLabel="Replace"
          onConfirm={async () => draft.load(wanted)}
          onClose={() => setWanted(null)}
        >
          The example “{wanted.label}” replaces your state and your questions.
        </ConfirmDialog>
      )}
    </>
  );
}
