/** Shows the secret of a new key, with a command to try it. */
import type { NewKey } from '../../../src/console/contract.ts';
import { useMe } from '../../api/session.ts';
import { Callout } from '../../kit/callout.tsx';
import { CodeBlock } from '../../kit/code-block.tsx';
import { curlOf } from '../../kit/code-samples.ts';
import { OneTimeDialog } from '../../kit/one-time-dialog.tsx';
import { type ListedModel, useModels } from '../models/models.ts';

type SecretDialogProps = Readonly<{ newKey: NewKey; onClose: () => void }>;

export function SecretDialog({ newKey: { key, secret }, onClose }: SecretDialogProps) {
  const { api_origin: apiOrigin } = useMe();
  const models = useModels();
  return (
    <OneTimeDialog
      title={`New key: ${key.name}`}
      secret={secret}
      copyLabel="Copy key"
      testId="secret"
      doneLabel="I have saved it"
      width="wide"
      onClose={onClose}
      introduction={
        <Callout tone="warn" title="Copy this key now">
          It is shown only once. The gateway does not store it, so nobody can recover it.
        </Callout>
      }
    >
      <div>
        <h3 className="mb-1.5 text-[0.8125rem] font-medium">Try it</h3>
        <CodeBlock
          label="Command with your key"
          samples={[
            { label: 'curl', code: trialOf(apiOrigin, secret, models.data?.data, key.allowed_models) },
          ]}
          height="max-h-56"
        />
      </div>
    </OneTimeDialog>
  );
}

/** A short chat with a model that the key may call, or else the model list, which any key may request. */
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
