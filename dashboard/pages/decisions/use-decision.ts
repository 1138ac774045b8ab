/** One decision at a time: running, cancelled, or done. */
import { useEffect, useRef, useState } from 'react';
import { type DecisionOutcome, runDecision } from './run-decision.ts';

export type DecisionRun = Readonly<{
  outcome: DecisionOutcome | null;
  isRunning: boolean;
  run: (body: unknown) => void;
  cancel: () => void;
}>;

export function useDecision(): DecisionRun {
  const [outcome, setOutcome] = useState<DecisionOutcome | null>(null);
  const [isRunning, setRunning] = useState(false);
  const current = useRef<AbortController | null>(null);
  useEffect(() => () => current.current?.abort(), []);

  const run = (body: unknown) => {
    const controller = new AbortController();
    current.current = controller;
    setRunning(true);
    runDecision(body, controller.signal)
      .then((next) => {
        if (current.current === controller) setOutcome(next);
      })
      // Only a cancelled run throws, and who cancelled knows it.
      .catch(() => {})
      .finally(() => {
        if (current.current === controller) setRunning(false);
      });
  };
  return { outcome, isRunning, run, cancel: () => current.current?.abort() };
}
