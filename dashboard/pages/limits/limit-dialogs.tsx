import { useState } from 'react';
import type { Limit } from '../../../src/console/contract.ts';
import { problemOf } from '../../api/client.ts';
import { ConfirmDialog, FormDialog } from '../../kit/dialog.tsx';
import { showToast } from '../../kit/toast.tsx';
import { AmountFields, SubjectFields } from './limit-fields.tsx';
import {
  changeOf,
  draftOf,
  emptyLimitForm,
  formOfLimit,
  type LimitFormProblems,
  type LimitFormState,
  limitFormFields,
  problemsOf,
} from './limit-form.ts';
import { nameOf } from './limit-words.ts';
import { type LimitSource, useChangeLimit, useCreateLimit, useRemoveLimit } from './queries.ts';

type CreateProps = Readonly<{
  source: LimitSource;
  /** The key that the page is about. */
  keyId: string | null;
  onClose: () => void;
}>;

export function CreateLimitDialog({ source, keyId, onClose }: CreateProps) {
  const creating = useCreateLimit(source);
  const start = keyId === null ? emptyLimitForm : { ...emptyLimitForm, scope: 'key' as const, keyId };
  const { form, setForm, problems, submit } = useLimitForm(start, creating.error);
  const create = () =>
    creating.mutate(draftOf(form), {
      onSuccess: () => {
        showToast('good', 'The limit was set.');
        onClose();
      },
    });
  return (
    <FormDialog
      title="Set a limit"
      description="It applies to the next request. The strictest limit decides."
      submitLabel="Set limit"
      isBusy={creating.isPending}
      error={creating.error}
      ownFields={limitFormFields}
      onClose={onClose}
      onSubmit={() => submit(create)}
    >
      <SubjectFields form={form} onChange={setForm} problems={problems} isOperator={source.isOperator} />
      <AmountFields form={form} onChange={setForm} problems={problems} />
    </FormDialog>
  );
}

type LimitDialogProps = Readonly<{ source: LimitSource; limit: Limit; onClose: () => void }>;

export function ChangeLimitDialog({ source, limit, onClose }: LimitDialogProps) {
  // The limit as it was when the dialog opened, whatever is fetched in the meantime.
  const [before] = useState(() => formOfLimit(limit));
  const changing = useChangeLimit(source, limit.id);
  const { form, setForm, problems, submit } = useLimitForm(before, changing.error);
  const save = () =>
    changing.mutate(changeOf(before, form), {
      onSuccess: () => {
        showToast('good', 'The limit was changed.');
        onClose();
      },
    });
  return (
    <FormDialog
      title={nameOf(limit)}
      description="A change applies to the next request. What was used stays counted."
      submitLabel="Save"
      isBusy={changing.isPending}
      error={changing.error}
      ownFields={limitFormFields}
      onClose={onClose}
      onSubmit={() => submit(save)}
    >
      <AmountFields form={form} onChange={setForm} problems={problems} />
    </FormDialog>
  );
}

export function RemoveLimitDialog({ source, limit, onClose }: LimitDialogProps) {
  const { mutateAsync } = useRemoveLimit(source, limit.id);
  const confirm = async () => {
    await mutateAsync();
    showToast('good', 'The limit was removed.');
  };
  return (
    <ConfirmDialog
      title="Remove this limit?"
      confirmLabel="Remove limit"
      isDangerous
      onConfirm={confirm}
      onClose={onClose}
    >
      {nameOf(limit)}.{' '}
      {limit.scope === 'end_user'
        ? 'The limit for each end user applies instead, if there is one.'
        : 'The other limits stay as they are.'}
    </ConfirmDialog>
  );
}

function useLimitForm(start: LimitFormState, serverError: unknown) {
  const [form, setForm] = useState(start);
  const [isTried, setTried] = useState(false);
  const ownProblems = problemsOf(form, new Date());
  const problems: LimitFormProblems = {
    ...(serverError === null ? {} : serverProblem(serverError)),
    // Mistakes are not shown before the first attempt to submit.
    ...(isTried ? ownProblems : {}),
  };
  const submit = (send: () => void) => {
    setTried(true);
    if (Object.keys(ownProblems).length === 0) send();
  };
  return { form, setForm, problems, submit };
}

function serverProblem(error: unknown): LimitFormProblems {
  const { param, message } = problemOf(error);
  return param === null ? {} : { [param]: message };
}
