/** A form of a key: what is written, what is wrong with it, and who said so. */
import { useState } from 'react';
import { problemOf } from '../../api/problem.ts';
import { type KeyFormField, type KeyFormProblems, type KeyFormState, problemsOf } from './key-form-state.ts';

const fields: readonly KeyFormField[] = [
  'name',
  'requests_per_minute',
  'max_concurrent',
  'monthly_limit',
  'allowed_models',
  'expires_at',
];

/** The field that a refusal is about, such as `allowed_models` for `allowed_models[2]`. */
function blamedField(error: unknown): KeyFormField | null {
  if (error === null || error === undefined) return null;
  const [name] = (problemOf(error).param ?? '').split('[');
  return fields.find((field) => field === name) ?? null;
}

export function useKeyForm(start: KeyFormState, serverError: unknown) {
  const [form, setForm] = useState(start);
  const [isTried, setTried] = useState(false);
  const blamed = blamedField(serverError);
  const ownProblems = problemsOf(start, form, new Date());
  const shownProblems: KeyFormProblems = {
    ...(blamed === null ? {} : { [blamed]: problemOf(serverError).message }),
    // Nobody is told of mistakes in what they have not finished writing.
    ...(isTried ? ownProblems : {}),
  };
  return {
    form,
    setForm,
    shownProblems,
    /** What the fields do not show by themselves. */
    otherError: blamed === null ? serverError : null,
    submit: (send: () => void) => {
      setTried(true);
      if (Object.keys(ownProblems).length === 0) send();
    },
  };
}
