/** A modal window on the browser's own `<dialog>`, which keeps the focus inside and the rest of the page out of reach. */
import { X } from 'lucide-react';
import { type FormEvent, type ReactNode, useId, useLayoutEffect, useRef, useState } from 'react';
import { type ApiProblem, problemOf } from '../api/client.ts';
import { Button, IconButton } from './button.tsx';
import { classNames } from './class-names.ts';
import { FormProblem, ProblemNote } from './states.tsx';

type DialogProps = Readonly<{
  title: ReactNode;
  description?: ReactNode;
  /** The dialog is open as long as it is rendered: `{isOpen && <Dialog … />}`. */
  onClose: () => void;
  /** The buttons, the most likely one last. */
  footer?: ReactNode;
  /** Makes the dialog a form: a submit button in the footer and the Enter key call it. */
  onSubmit?: () => void;
  /** False for what must be answered with a button, such as a secret that is shown once. */
  isDismissible?: boolean;
  width?: 'narrow' | 'normal' | 'wide';
  children?: ReactNode;
}>;

const widths = { narrow: 'sm:max-w-md', normal: 'sm:max-w-lg', wide: 'sm:max-w-3xl' } as const;

export function Dialog(props: DialogProps) {
  const {
    title,
    description,
    onClose,
    footer,
    onSubmit,
    isDismissible = true,
    width = 'normal',
    children,
  } = props;
  const id = useId();
  const ref = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = ref.current;
    // The browser gives the focus back to where it was, but only if the dialog closes before it is gone.
    dialog?.showModal();
    // The browser would begin with the button that closes.
    const [first] = startsOf(dialog);
    first?.focus();
    return () => dialog?.close();
  }, []);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit?.();
  };
  const Body = onSubmit === undefined ? 'div' : 'form';
  return (
    <dialog
      ref={ref}
      aria-labelledby={`${id}-title`}
      aria-describedby={description === undefined ? undefined : `${id}-about`}
      onCancel={(event) => {
        event.preventDefault();
        if (isDismissible) onClose();
      }}
      // Some browsers close on a second Escape whatever was prevented; the page is to know of it.
      onClose={() => {
        if (ref.current !== null) onClose();
      }}
      onMouseDown={(event) => {
        if (isDismissible && event.target === event.currentTarget) onClose();
      }}
      className={classNames(
        'm-auto max-h-[calc(100dvh-2rem)] w-[calc(100%-2rem)] animate-appear overflow-hidden rounded-xl bg-raised p-0 text-ink shadow-float',
        widths[width],
      )}
    >
      <Body
        {...(onSubmit === undefined ? {} : { onSubmit: submit, noValidate: true })}
        className="flex max-h-[calc(100dvh-2rem)] flex-col"
      >
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
    </dialog>
  );
}

/** Where one begins: in what is to be filled in, else with the first of the buttons, which is the harmless one. */
function startsOf(dialog: HTMLDialogElement | null): HTMLElement[] {
  const find = (selector: string) => [...(dialog?.querySelectorAll<HTMLElement>(selector) ?? [])];
  return [
    ...find('[data-part="body"] :is(input, textarea, select):not(:disabled)'),
    ...find('[data-part="footer"] :is(button, a):not(:disabled)'),
  ];
}

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

/** A form in a window of its own: its fields, what it was refused for, and the two ways out of it. */
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

type ConfirmDialogProps = Readonly<{
  title: string;
  children: ReactNode;
  /** What the button does, such as "Revoke key". */
  confirmLabel: string;
  isDangerous?: boolean;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}>;

/** Asks before something that cannot be taken back. Stays open, and says why, when it fails. */
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
