/** A form in a window of its own: its fields, what it was refused for, and the two ways out of it. */
import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { FormProblem } from './form-problem.tsx';

type FormDialogProps = Readonly<{
  title: string;
  description?: string;
  /** What the button does, such as "Create the key". */
  submitLabel: string;
  isDangerous?: boolean;
  width?: 'narrow' | 'normal';
  /** False as long as it must not be sent. */
  isReady?: boolean;
  isBusy: boolean;
  /** What the last try failed with. */
  error: unknown;
  /** The names of the fields that show their own problems. */
  ownFields?: readonly string[];
  onSubmit: () => void;
  onClose: () => void;
  children: ReactNode;
}>;

export function FormDialog(props: FormDialogProps) {
  const { title, description, submitLabel, isDangerous = false, isReady = true, isBusy } = props;
  const { width = 'normal', error, ownFields = [], onSubmit, onClose, children } = props;
  return (
    <Dialog
      title={title}
      {...(description === undefined ? {} : { description })}
      width={width}
      onClose={onClose}
      onSubmit={onSubmit}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            variant={isDangerous ? 'danger' : 'primary'}
            disabled={!isReady}
            isBusy={isBusy}
          >
            {submitLabel}
          </Button>
        </>
      }
    >
      {children}
      <FormProblem error={error} fields={ownFields} />
    </Dialog>
  );
}
