/** Text to copy: a button, an ID with its button, and a secret that is shown once. */
import { Check, Copy } from 'lucide-react';
import { type Ref, useEffect, useState } from 'react';
import { Button, type ButtonVariant, IconButton } from './button.tsx';
import { classNames } from './class-names.ts';
import { showToast } from './toast.tsx';

const shownMs = 1_600;

type CopyButtonProps = Readonly<{
  text: string;
  /** What is copied, as an accessible name: "Copy key". */
  label: string;
  /** With text next to the icon. */
  isWide?: boolean;
  variant?: ButtonVariant;
  /** Of a wide button. */
  ref?: Ref<HTMLButtonElement>;
  onCopied?: () => void;
}>;

export function CopyButton({ text, label, isWide = false, variant, ref, onCopied }: CopyButtonProps) {
  const [copies, setCopies] = useState(0);
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    if (copies === 0) return undefined;
    setShown(true);
    const timer = setTimeout(() => setShown(false), shownMs);
    return () => clearTimeout(timer);
  }, [copies]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopies((count) => count + 1);
      onCopied?.();
    } catch {
      showToast('bad', 'The browser did not allow copying. Select the text and copy it yourself.');
    }
  };
  const icon = isShown ? Check : Copy;
  return (
    <>
      {isWide ? (
        <Button ref={ref} icon={icon} variant={variant} onClick={copy} aria-label={label}>
          {isShown ? 'Copied' : 'Copy'}
        </Button>
      ) : (
        <IconButton
          icon={icon}
          label={label}
          onClick={copy}
          className={isShown ? 'size-7 text-good' : 'size-7'}
        />
      )}
      <span role="status" className="sr-only">
        {isShown ? 'Copied' : ''}
      </span>
    </>
  );
}

export function RequestId({ id, className = 'text-xs' }: Readonly<{ id: string; className?: string }>) {
  return (
    <span className="inline-flex max-w-full items-center gap-1">
      <code className={classNames('font-mono wrap-anywhere', className)}>{id}</code>
      <CopyButton text={id} label="Copy request ID" />
    </span>
  );
}

/** The start and end of a long ID. All of it is shown on hover, and copied. */
export function ShortId({ id, label }: Readonly<{ id: string; label: string }>) {
  return (
    <span className="inline-flex items-center gap-0.5 whitespace-nowrap">
      <code title={id} className="font-mono text-xs text-ink-faint">
        {id.slice(0, 8)}…{id.slice(-4)}
      </code>
      {/* A button in every row of a table is noise: there it appears with the pointer, or the focus. */}
      <span className="pointer-fine:in-[tr:not(:hover,:focus-within)]:opacity-0">
        <CopyButton text={id} label={label} />
      </span>
    </span>
  );
}

type OneTimeSecretProps = Readonly<{
  text: string;
  label: string;
  testId: string;
  buttonRef: Ref<HTMLButtonElement>;
  /** By the button, or by hand. */
  onCopied: () => void;
}>;

/** A secret in full, which cannot be shown again. In a dialog, its button has the focus first. */
export function OneTimeSecret({ text, label, testId, buttonRef, onCopied }: OneTimeSecretProps) {
  return (
    <div data-part="initial-focus" className="flex flex-wrap items-center gap-2">
      <code
        data-testid={testId}
        onCopy={() => {
          if (getSelection()?.toString().trim() === text) onCopied();
        }}
        className="min-w-0 flex-1 basis-72 rounded-md border border-line bg-sunken px-3 py-2 font-mono text-[0.8125rem] wrap-anywhere select-all"
      >
        {text}
      </code>
      <CopyButton ref={buttonRef} text={text} label={label} isWide variant="primary" onCopied={onCopied} />
    </div>
  );
}
