/** Modal dialogs on the browser's own `<dialog>`, which keeps the focus inside and makes the rest of the page inert. */
import { X } from 'lucide-react';
import { type ReactNode, useId, useLayoutEffect, useRef, useState } from 'react';
import { Button, IconButton } from './button.tsx';
import { classNames } from './class-names.ts';
import { Form } from './form.tsx';
import { useKeptFocus } from './keep-focus.ts';
import { FormProblem } from './states.tsx';

type DialogProps = Readonly<{
  title: ReactNode;
  description?: ReactNode;
  /** The dialog is open for as long as it is rendered: `{isOpen && <Dialog … />}`. */
  onClose: () => void;
  /** The buttons, with the primary one last. */
  footer?: ReactNode;
  /** Makes the dialog a form: a submit button in the footer and the Enter key call it. */
  onSubmit?: () => unknown;
  /** False where only a button may close it, such as for a secret that is shown once. */
  isDismissible?: boolean;
  width?: 'narrow' | 'normal' | 'wide';
  children?: ReactNode;
}>;

const widths = { narrow: 'sm:max-w-md', normal: 'sm:max-w-lg', wide: 'sm:max-w-3xl' } as const;

export function Dialog(props: DialogProps) {
  const { title, description, onClose, footer, onSubmit, isDismissible = true, width, children } = props;
  const id = useId();
  return (
    <Modal
      titleId={`${id}-title`}
      aboutId={description === undefined ? undefined : `${id}-about`}
      isDismissible={isDismissible}
      width={width}
      onClose={onClose}
    >
      <Body onSubmit={onSubmit}>
        <header className="flex items-start justify-between gap-4 px-5 pt-4.5">
          <div className="min-w-0">
            <h2 id={`${id}-title`} className="text-base font-semibold wrap-anywhere">
              {title}
            </h2>
            {description !== undefined && (
              <p id={`${id}-about`} className="mt-1 text-ink-soft">
                {description}
              </p>
            )}
          </div>
          {isDismissible && <IconButton icon={X} label="Close" onClick={onClose} className="-mt-1 -mr-2" />}
        </header>
        <div data-part="body" className="min-h-0 flex-1 space-y-4 overflow-y-auto px-5 py-4">
          {children}
        </div>
        {footer !== undefined && (
          <footer
            data-part="footer"
            className="flex flex-wrap items-center justify-end gap-2 border-t border-line bg-sunken px-5 py-3"
          >
            {footer}
          </footer>
        )}
      </Body>
    </Modal>
  );
}

type BodyProps = Readonly<{ onSubmit: DialogProps['onSubmit'] | undefined; children: ReactNode }>;

function Body({ onSubmit, children }: BodyProps) {
  const className = 'flex max-h-[calc(100dvh-2rem)] flex-col';
  if (onSubmit === undefined) return <div className={className}>{children}</div>;
  return (
    <Form noValidate onSubmit={onSubmit} className={className}>
      {children}
    </Form>
  );
}

type ModalProps = Readonly<{
  titleId: string;
  aboutId: string | undefined;
  isDismissible: boolean;
  width: DialogProps['width'];
  onClose: () => void;
  children: ReactNode;
}>;

/** The browser's dialog: how it opens, takes the focus and closes. */
function Modal({ titleId, aboutId, isDismissible, width = 'normal', onClose, children }: ModalProps) {
  const ref = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = ref.current;
    // The browser restores the previous focus, but only if the dialog is closed before it is removed.
    dialog?.showModal();
    // The browser itself would focus the close button.
    const [first] = initialFocusOf(dialog);
    first?.focus();
    return () => dialog?.close();
  }, []);
  // What opened it may be gone by now.
  useKeptFocus();
  return (
    <dialog
      ref={ref}
      aria-labelledby={titleId}
      aria-describedby={aboutId}
      onCancel={(event) => {
        event.preventDefault();
        if (isDismissible) onClose();
      }}
      // Browsers close the dialog on a second Escape even if the event was cancelled.
      onClose={() => {
        if (ref.current === null) return;
        if (isDismissible) onClose();
        else ref.current.showModal();
      }}
      onMouseDown={(event) => {
        if (isDismissible && event.target === event.currentTarget) onClose();
      }}
      className={classNames(
        'm-auto max-h-[calc(100dvh-2rem)] w-[calc(100%-2rem)] animate-appear overflow-hidden rounded-xl bg-raised p-0 text-ink shadow-float',
        widths[width],
      )}
    >
      {children}
    </dialog>
  );
}

/**
 * What can take the initial focus: an element that asks for it, or else the first input, or else the first button, which
 * is the harmless one.
 */
function initialFocusOf(dialog: HTMLDialogElement | null): HTMLElement[] {
  const find = (selector: string) => [...(dialog?.querySelectorAll<HTMLElement>(selector) ?? [])];
  return [
    ...find('[data-part="initial-focus"] button'),
    ...find('[data-part="body"] :is(input, textarea, select):not(:disabled)'),
    ...find('[data-part="footer"] :is(button, a):not(:disabled)'),
  ];
}

type FormDialogProps = Readonly<{
  title: string;
  description?: string;
  /** What the button does, such as "Create key". */
  submitLabel: string;
  isDangerous?: boolean;
  width?: 'narrow' | 'normal';
  /** Whether the form can be submitted. */
  isReady?: boolean;
  isBusy: boolean;
  /** Why the last attempt failed. */
  error: unknown;
  /** The names of the fields that show their own errors. */
  ownFields?: readonly string[];
  onSubmit: () => unknown;
  onClose: () => void;
  children: ReactNode;
}>;

/** A form with its error and its two buttons. */
export function FormDialog(props: FormDialogProps) {
  const { submitLabel, isDangerous = false, isReady = true, isBusy, error, ownFields, children } = props;
  const { title, description, width = 'normal', onSubmit, onClose } = props;
  return (
    <Dialog
      title={title}
      description={description}
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

type ConfirmDialogProps = Readonly<{
  title: string;
  children: ReactNode;
  /** What the button does, such as "Revoke key". */
  confirmLabel: string;
  isDangerous?: boolean;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}>;

/** Asks before an action. If the action fails, the dialog stays open and shows why. */
export function ConfirmDialog({ confirmLabel, onConfirm, onClose, children, ...rest }: ConfirmDialogProps) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const confirm = async () => {
    setBusy(true);
    setError(null);
    try {
      await onConfirm();
      onClose();
    } catch (thrown) {
      setError(thrown);
      setBusy(false);
    }
  };
  return (
    <FormDialog
      {...rest}
      submitLabel={confirmLabel}
      width="narrow"
      isBusy={isBusy}
      error={error}
      onSubmit={confirm}
      onClose={onClose}
    >
      <div className="text-ink-soft">{children}</div>
    </FormDialog>
  );
}
