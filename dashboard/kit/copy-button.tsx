import { Check, Copy } from 'lucide-react';
import { useEffect, useState } from 'react';
import { Button, type ButtonVariant, IconButton } from './button.tsx';
import { showToast } from './toast.tsx';

const shownMs = 1_600;

type CopyButtonProps = Readonly<{
  text: string;
  /** What is copied, as an accessible name: "Copy the key". */
  label: string;
  /** With words instead of an icon alone. */
  isWide?: boolean;
  variant?: ButtonVariant;
}>;

export function CopyButton({ text, label, isWide = false, variant }: CopyButtonProps) {
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
    } catch {
      showToast('bad', 'The browser did not allow copying. Select the text and copy it yourself.');
    }
  };
  const icon = isShown ? Check : Copy;
  return (
    <>
      {isWide ? (
        <Button icon={icon} {...(variant === undefined ? {} : { variant })} onClick={copy} aria-label={label}>
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

/** An ID that is long to read: its beginning and end, all of it on hover and in the clipboard. */
export function ShortId({ id, label }: Readonly<{ id: string; label: string }>) {
  return (
    <span className="inline-flex items-center gap-0.5 whitespace-nowrap">
      <code title={id} className="font-mono text-xs text-ink-faint">
        {id.slice(0, 8)}…{id.slice(-4)}
      </code>
      <CopyButton text={id} label={label} />
    </span>
  );
}
