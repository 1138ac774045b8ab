/** Questions about a state, answered with probabilities. */
import { Play, Scale, Square } from 'lucide-react';
import { useState } from 'react';
import { useMe } from '../../api/session.ts';
import { Button } from '../../kit/button.tsx';
import { Callout } from '../../kit/callout.tsx';
import { Card } from '../../kit/card.tsx';
import { EmptyState } from '../../kit/empty-state.tsx';
import { Field } from '../../kit/field.tsx';
import { Select, TextArea } from '../../kit/input.tsx';
import { Page } from '../../kit/page.tsx';
import { SkeletonLines } from '../../kit/skeleton.tsx';
import { examples } from './examples.ts';
import { adviceForFailure } from './failure-words.ts';
import { DecisionFailureView, DecisionResult, useSecondsLeft } from './outcome-view.tsx';
import { QuestionsForm, QuestionsJson, QuestionsViewSwitch } from './questions-editor.tsx';
import { type DecisionRun, useDecision } from './use-decision.ts';
import { type DecisionDraft, useDraft } from './use-draft.ts';

export function DecisionsPage() {
  const { decisions } = useMe();
  const draft = useDraft(decisions.model ?? '');
  const decision = useDecision();
  return (
    <Page
      title="Decisions"
      description="Describe a state, ask typed questions about it, and see how likely each answer is."
      actions={<ExampleChooser onChoose={draft.load} />}
    >
      {!decisions.is_configured && (
        <Callout tone="warn" title="Decisions are not set up on this gateway">
          {adviceForFailure('not_configured', 503)}
        </Callout>
      )}
      <div className="grid items-start gap-6 lg:grid-cols-[minmax(0,1.2fr)_minmax(0,1fr)]">
        <div className="space-y-6">
          <StateCard draft={draft} />
          <QuestionsCard draft={draft} />
        </div>
        <div className="lg:sticky lg:top-6">
          <ResultCard draft={draft} decision={decision} />
        </div>
      </div>
    </Page>
  );
}

function ExampleChooser({ onChoose }: Readonly<{ onChoose: DecisionDraft['load'] }>) {
  const [chosen, choose] = useState(examples[0]?.id ?? '');
  return (
    <Select
      aria-label="Start from an example"
      className="w-72 max-w-full"
      value={chosen}
      onChange={({ target }) => {
        const example = examples.find(({ id }) => id === target.value);
        if (example === undefined) return;
        choose(example.id);
        onChoose(example);
      }}
    >
      {examples.map(({ id, label }) => (
        <option key={id} value={id}>
          {`Example: ${label}`}
        </option>
      ))}
    </Select>
  );
}

function StateCard({ draft }: Readonly<{ draft: DecisionDraft }>) {
  return (
    <Card title="State" description="What is known, as a JSON object.">
      <Field label="State as JSON" isLabelHidden error={draft.stateProblem}>
        <TextArea
          isCode
          rows={10}
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

function ResultCard({ draft, decision }: Readonly<{ draft: DecisionDraft; decision: DecisionRun }>) {
  const { outcome, isRunning, run, cancel } = decision;
  const failure = outcome?.kind === 'failed' ? outcome : null;
  const wait = useSecondsLeft(failure?.failedAt ?? 0, failure?.failure.retry_after_seconds);
  const body = draft.body;
  return (
    <Card
      title="Answer"
      actions={
        isRunning ? (
          <Button icon={Square} onClick={cancel}>
            Cancel
          </Button>
        ) : (
          <Button
            variant="primary"
            icon={Play}
            disabled={body === null || (wait ?? 0) > 0}
            onClick={() => run(body)}
          >
            Run
          </Button>
        )
      }
    >
      <div aria-live="polite" aria-busy={isRunning} className="min-h-64">
        {draft.obstacle !== null && (
          <p className="mb-4 text-[0.8125rem] text-ink-soft">{`To run: ${draft.obstacle}`}</p>
        )}
        {isRunning ? (
          <SkeletonLines count={8} />
        ) : outcome === null ? (
          <EmptyState icon={Scale} title="No answer yet">
            Run the decision to see its answers here. It costs your account nothing.
          </EmptyState>
        ) : outcome.kind === 'answered' ? (
          <DecisionResult body={outcome.body} />
        ) : (
          <DecisionFailureView key={outcome.failedAt} failure={outcome.failure} failedAt={outcome.failedAt} />
        )}
      </div>
    </Card>
  );
}
