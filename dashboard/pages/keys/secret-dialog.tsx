/** The one time that a secret is in sight. It closes by a button only: a click beside it must not lose the key. */
import type { NewKey } from '../../../src/console/contract.ts';
import { useMe } from '../../api/session.ts';
import { Button } from '../../kit/button.tsx';
import { Callout } from '../../kit/callout.tsx';
import { CodeBlock } from '../../kit/code-block.tsx';
import { curlOf } from '../../kit/code-samples.ts';
import { CopyButton } from '../../kit/copy-button.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { type ListedModel, useModels } from '../models/models.ts';

type SecretDialogProps = Readonly<{ newKey: NewKey; onClose: () => void }>;

export function SecretDialog({ newKey: { key, secret }, onClose }: SecretDialogProps) {
  const { api_origin: apiOrigin } = useMe();
  const models = useModels();
  return (
    <Dialog
      title={`Your new key: ${key.name}`}
      isDismissible={false}
      width="wide"
      onClose={onClose}
      footer={
        <Button variant="primary" onClick={onClose}>
          I have stored it
        </Button>
      }
    >
      <Callout tone="warn" title="Copy this key now">
        It is shown only this once. The gateway does not keep it, and nobody can tell it to you again.
      </Callout>
      <div className="flex flex-wrap items-center gap-2">
        <code
          data-testid="secret"
          className="min-w-0 flex-1 basis-72 rounded-md border border-line bg-sunken px-3 py-2 font-mono text-[0.8125rem] wrap-anywhere select-all"
        >
          {secret}
        </code>
        <CopyButton text={secret} label="Copy the key" isWide variant="primary" />
      </div>
      <div>
        <h3 className="mb-1.5 text-[0.8125rem] font-medium">Try it</h3>
        <CodeBlock
          label="the command with your key"
          samples={[
            { label: 'curl', code: trialOf(apiOrigin, secret, models.data?.data, key.allowed_models) },
          ]}
          height="max-h-56"
        />
      </div>
    </Dialog>
  );
}

/** A short chat with a model that the key may call, or else the list of models, which any key may ask for. */
function trialOf(
  apiOrigin: string,
  secret: string,
  models: readonly ListedModel[] | undefined,
  allowed: readonly string[] | null,
): string {
  const model = models?.find(({ id, workload }) => workload === 'chat' && (allowed?.includes(id) ?? true));
  if (model === undefined) return `curl ${apiOrigin}/v1/models \\\n  -H "Authorization: Bearer ${secret}"`;
  return curlOf(apiOrigin, { model: model.id, messages: [{ role: 'user', content: 'Hello!' }] }, secret);
}
