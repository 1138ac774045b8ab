/** Which of the examples is being looked at, if what is written is still the same. */
import { type Example, examples } from './examples.ts';

/** In one form, whatever the spaces in it; null for what is no JSON. */
export function sameForm(json: string): string | null {
  try {
    return JSON.stringify(JSON.parse(json));
  } catch {
    return null;
  }
}

/** Null for what a person wrote or changed. */
export function exampleIn(stateJson: string, questionsJson: string): Example | null {
  const state = sameForm(stateJson);
  const questions = sameForm(questionsJson);
  return (
    examples.find(
      (example) => JSON.stringify(example.state) === state && JSON.stringify(example.questions) === questions,
    ) ?? null
  );
}
