import { useState } from 'react';
import type { AdminScope, AdminToken, NewAdminToken } from '../../../../src/console/operator-contract.ts';
import { useMe } from '../../../api/session.ts';
import { Callout } from '../../../kit/callout.tsx';
import { Checkbox } from '../../../kit/choice.tsx';
import { CodeBlock } from '../../../kit/code-block.tsx';
import { ConfirmDialog, FormDialog } from '../../../kit/dialog.tsx';
import { Field, FieldGroup, Input, Select } from '../../../kit/field.tsx';
import { OneTimeDialog } from '../../../kit/one-time-dialog.tsx';
import { fieldProblem } from '../../../kit/states.tsx';
import { showToast } from '../../../kit/toast.tsx';
import { useCreateToken, useRevokeToken } from './queries.ts';

const scopeHints: Readonly<Record<AdminScope, string>> = {
  read: 'Read everything: accounts, keys, usage, ledger, nodes, audit log.',
  accounts: 'Create, change, suspend and resume accounts; their members and invitations.',
  keys: 'Create, change, replace and revoke API keys.',
  money: 'Add credit.',
  catalogue: 'Check a catalogue.',
};
const allScopes = Object.keys(scopeHints) as AdminScope[];

const lifetimes = [
  { value: '7', label: 'In 7 days' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In 1 year' },
] as const;
type Lifetime = (typeof lifetimes)[number]['value'];

const dayMs = 24 * 60 * 60 * 1000;
const maxNameLength = 200;
const ownFields = ['name', 'scopes', 'networks', 'expires_at'];

type CreateTokenDialogProps = Readonly<{ onCreated: (token: NewAdminToken) => void; onClose: () => void }>;

export function CreateTokenDialog({ onCreated, onClose }: CreateTokenDialogProps) {
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<readonly AdminScope[]>(['read']);
  const [networks, setNetworks] = useState('');
  const [lifetime, setLifetime] = useState<Lifetime>('90');
  const [isTried, setTried] = useState(false);
  const creating = useCreateToken();
  const nameProblem = name.trim() === '' ? 'Enter a name.' : null;
  const scopesProblem = scopes.length === 0 ? 'Choose at least one.' : null;
  const create = () => {
    setTried(true);
    if (nameProblem !== null || scopesProblem !== null) return;
    const written = networks.split(/[\s,]+/).filter((network) => network !== '');
    creating.mutate(
      {
        name: name.trim(),
        scopes: [...scopes],
        networks: written.length === 0 ? null : written,
        expires_at: new Date(Date.now() + Number(lifetime) * dayMs).toISOString(),
      },
      { onSuccess: onCreated },
    );
  };
  return (
    <FormDialog
      title="Create admin token"
      description="A program with this token can do what you allow here, in all accounts."
      submitLabel="Create token"
      isBusy={creating.isPending}
      error={creating.error}
      ownFields={ownFields}
      onClose={onClose}
      onSubmit={create}
    >
      <Field
        label="Name"
        hint="Which program uses it."
        error={(isTried ? nameProblem : null) ?? fieldProblem(creating.error, 'name')}
      >
        <Input
          value={name}
          autoComplete="off"
          maxLength={maxNameLength}
          onChange={(event) => setName(event.target.value)}
        />
      </Field>
      <ScopeField
        scopes={scopes}
        onChange={setScopes}
        error={(isTried ? scopesProblem : null) ?? fieldProblem(creating.error, 'scopes')}
      />
      <Field
        label="Addresses"
        isOptional
        hint="Networks that it can be used from, such as 203.0.113.0/24, separated by commas."
        error={fieldProblem(creating.error, 'networks')}
      >
        <Input
          value={networks}
          autoComplete="off"
          placeholder="Everywhere"
          onChange={(event) => setNetworks(event.target.value)}
        />
      </Field>
      <Field label="Expires" error={fieldProblem(creating.error, 'expires_at')}>
        <Select value={lifetime} options={lifetimes} onChange={setLifetime} />
      </Field>
    </FormDialog>
  );
}

type ScopeFieldProps = Readonly<{
  scopes: readonly AdminScope[];
  onChange: (scopes: readonly AdminScope[]) => void;
  error: string | null | undefined;
}>;

function ScopeField({ scopes, onChange, error }: ScopeFieldProps) {
  const choose = (scope: AdminScope, isChosen: boolean) =>
    onChange(allScopes.filter((one) => (one === scope ? isChosen : scopes.includes(one))));
  return (
    <FieldGroup label="Scopes" error={error}>
      <div className="space-y-2">
        {allScopes.map((scope) => (
          <Checkbox
            key={scope}
            label={scope}
            hint={scopeHints[scope]}
            isChecked={scopes.includes(scope)}
            onChange={(isChecked) => choose(scope, isChecked)}
          />
        ))}
      </div>
    </FieldGroup>
  );
}

type NewTokenDialogProps = Readonly<{ newToken: NewAdminToken; onClose: () => void }>;

export function NewTokenDialog({ newToken: { token, secret }, onClose }: NewTokenDialogProps) {
  const { api_origin: apiOrigin } = useMe();
  return (
    <OneTimeDialog
      title={`New token: ${token.name}`}
      secret={secret}
      copyLabel="Copy token"
      testId="admin-token"
      doneLabel="I have saved it"
      width="wide"
      onClose={onClose}
      introduction={
        <Callout tone="warn" title="Copy this token now">
          It is shown only once. The gateway does not store it, so nobody can recover it.
        </Callout>
      }
    >
      <div>
        <h3 className="mb-1.5 text-[0.8125rem] font-medium">Try it</h3>
        <CodeBlock
          label="Command with your token"
          samples={[
            {
              label: 'curl',
              code: `curl ${apiOrigin}/admin/v1/token \\\n  -H "Authorization: Bearer ${secret}"`,
            },
          ]}
          height="max-h-56"
        />
      </div>
    </OneTimeDialog>
  );
}

type RevokeTokenDialogProps = Readonly<{ token: AdminToken; onClose: () => void }>;

export function RevokeTokenDialog({ token, onClose }: RevokeTokenDialogProps) {
  const { mutateAsync } = useRevokeToken(token.id);
  return (
    <ConfirmDialog
      title={`Revoke ${token.name}?`}
      confirmLabel="Revoke token"
      isDangerous
      onConfirm={async () => {
        await mutateAsync();
        showToast('good', `The token “${token.name}” is revoked.`);
      }}
      onClose={onClose}
    >
      Programs that use <code className="font-mono text-xs">{token.hint}</code> are rejected immediately, on
      all nodes. This cannot be undone. What they have created remains, except for invitations that nobody has
      accepted yet.
    </ConfirmDialog>
  );
}
