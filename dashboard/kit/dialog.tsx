/** A modal window on the browser's own `<dialog>`, which keeps the focus inside and the rest of the page out of reach. */
import { X } from 'lucide-react';
import { type FormEvent, type ReactNode, useId, useLayoutEffect, useRef } from 'react';
import { classNames } from './class-names.ts';
import { IconButton } from './icon-button.tsx';

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
