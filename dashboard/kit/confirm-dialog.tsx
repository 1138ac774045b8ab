/** Asks before something that cannot be taken back. Stays open, and says why, when it fails. */
import { type ReactNode, useState } from 'react';
import { type ApiProblem, problemOf } from '../api/problem.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { ProblemNote } from './error-state.tsx';

type ConfirmDialogProps = Readonly<{
  title: string;
  children: ReactNode;
  /** What the button does, such as "Revoke key". */
  confirmLabel: string;
  isDangerous?: boolean;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}>;

export function ConfirmDialog({
  title,
  children,
  confirmLabel,
  isDangerous = false,
  onConfirm,
  onClose,
}: ConfirmDialogProps) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const confirm = async () => {
    setBusy(true);
    setProblem(null);
    try {
      await onConfirm();
      onClose();
    } catch (error) {
      setProblem(problemOf(error));
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={title}
      width="narrow"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant={isDangerous ? 'danger' : 'primary'} isBusy={isBusy} onClick={confirm}>
            {confirmLabel}
          </Button>
        </>
      }
    >
      <div className="text-ink-soft">{children}</div>
      {problem !== null && <ProblemNote problem={problem} />}
    </Dialog>
  );
}
