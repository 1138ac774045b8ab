/** Shows a secret once. It closes once the secret was copied; without a copy, only after a second confirmation. */
import { type ReactNode, useRef, useState } from 'react';
import { Button } from './button.tsx';
import { Callout } from './callout.tsx';
import { OneTimeSecret } from './copy-button.tsx';
import { Dialog } from './dialog.tsx';

type OneTimeDialogProps = Readonly<{
  title: string;
  secret: string;
  /** What is copied, as an accessible name: "Copy key". */
  copyLabel: string;
  testId: string;
  /** What the user has done with it, such as "I have saved it". */
  doneLabel: string;
  width?: 'normal' | 'wide';
  /** Above the secret. */
  introduction: ReactNode;
  /** Below the secret. */
  children?: ReactNode;
  onClose: () => void;
}>;

export function OneTimeDialog(props: OneTimeDialogProps) {
  const { title, secret, copyLabel, testId, doneLabel, width = 'normal', introduction, children } = props;
  const { onClose } = props;
  const [isCopied, setCopied] = useState(false);
  const [isWarned, setWarned] = useState(false);
  const copyButton = useRef<HTMLButtonElement>(null);
  const close = () => {
    if (isCopied) return onClose();
    setWarned(true);
    // Pressing Enter again copies, and does not close.
    copyButton.current?.focus();
  };
  const mustConfirm = isWarned && !isCopied;
  return (
    <Dialog
      title={title}
      isDismissible={false}
      width={width}
      onClose={onClose}
      footer={
        <>
          {mustConfirm && (
            <Button variant="danger" onClick={onClose}>
              Close without copying
            </Button>
          )}
          <Button variant={isCopied ? 'primary' : 'secondary'} onClick={close}>
            {doneLabel}
          </Button>
        </>
      }
    >
      {introduction}
      <OneTimeSecret
        text={secret}
        label={copyLabel}
        testId={testId}
        buttonRef={copyButton}
        onCopied={() => setCopied(true)}
      />
      {mustConfirm && (
        <Callout tone="bad" isUrgent title="You have not copied it">
          It cannot be shown again. Copy it, or close without copying if you have written it down.
        </Callout>
      )}
      {children}
    </Dialog>
  );
}
