/** One decision at a time: running, cancelled, or done. */
import { useEffect, useRef, useState } from 'react';
import { type DecisionOutcome, runDecision } from './run-decision.ts';

export type DecisionRun = Readonly<{
  outcome: DecisionOutcome | null;
  /** What the outcome is about. */
  decidedBody: string | null;
  isRunning: boolean;
  run: (body: string) => void;
  cancel: () => void;
}>;

export function useDecision(): DecisionRun {
  const [outcome, setOutcome] = useState<DecisionOutcome | null>(null);
  const [decidedBody, setDecidedBody] = useState<string | null>(null);
  const [isRunning, setRunning] = useState(false);
  const current = useRef<AbortController | null>(null);
  useEffect(() => () => current.current?.abort(), []);

  const run = (body: string) => {
    const controller = new AbortController();
    current.current = controller;
    setRunning(true);
    runDecision(body, controller.signal)
      .then((next) => {
        if (current.current !== controller) return;
        setOutcome(next);
        setDecidedBody(body);
      })
      // Only a cancelled run throws, and who cancelled knows it.
      .catch(() => {})
      .finally(() => {
        if (current.current === controller) setRunning(false);
      });
  };
  return { outcome, decidedBody, isRunning, run, cancel: () => current.current?.abort() };
}
