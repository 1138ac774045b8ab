/** The one time that a password link is in sight. It closes by a button only: a click beside it must not lose it. */
import type { ResetLink } from '../../../../src/console/operator-contract.ts';
import { Button } from '../../../kit/button.tsx';
import { Callout } from '../../../kit/callout.tsx';
import { CopyButton } from '../../../kit/copy-button.tsx';
import { Dialog } from '../../../kit/dialog.tsx';
import { Time } from '../../../kit/time.tsx';

type LinkDialogProps = Readonly<{ email: string; link: ResetLink; isNew?: boolean; onClose: () => void }>;

export function LinkDialog({ email, link, isNew = false, onClose }: LinkDialogProps) {
  return (
    <Dialog
      title={isNew ? `${email} is created` : `Password link for ${email}`}
      isDismissible={false}
      onClose={onClose}
      footer={
        <Button variant="primary" onClick={onClose}>
          I have sent it
        </Button>
      }
    >
      <p className="text-ink-soft">
        Send this link to {email} in a way that only they can read. With it they choose a password.
      </p>
      <div className="flex flex-wrap items-center gap-2">
        <code
          data-testid="password-link"
          className="min-w-0 flex-1 basis-72 rounded-md border border-line bg-sunken px-3 py-2 font-mono text-[0.8125rem] wrap-anywhere select-all"
        >
          {link.reset_url}
        </code>
        <CopyButton text={link.reset_url} label="Copy the link" isWide variant="primary" />
      </div>
      <Callout tone="warn" title="Copy it now: it is shown only this once">
        It works once and is valid for an hour, until <Time at={link.expires_at} />. You can make another one
        at any time.
      </Callout>
    </Dialog>
  );
}
