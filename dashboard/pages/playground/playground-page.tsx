/** A conversation with a model, charged to a key of the account. */
import { KeyRound, RotateCcw } from 'lucide-react';
import { useState } from 'react';
import type { Key } from '../../../src/console/contract.ts';
import { useSearchValue } from '../../address.ts';
import { useAccount } from '../../api/session.ts';
import { Button, LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Field, Select } from '../../kit/field.tsx';
import { Page } from '../../kit/page.tsx';
import { Picker } from '../../kit/picker.tsx';
import { EmptyState, Loaded, Loading, Skeleton } from '../../kit/states.tsx';
import { useKeys } from '../keys/queries.ts';
import { type ListedModel, useModels } from '../models/models.ts';
import { ChatCard, mayCall } from './chat-card.tsx';
import { emptyParameters } from './settings.ts';
import { type Settings, SettingsPanel } from './settings-panel.tsx';
import { useChat } from './use-chat.ts';

/** Each account has its own keys and its own conversation. */
export function PlaygroundPage() {
  const { id } = useAccount();
  return <Playground key={id} />;
}

function Playground() {
  const chat = useChat();
  const models = useModels();
  const keys = useKeys();
  return (
    <Page
      title="Playground"
      description="Try a model. Each message is a real request, charged to the selected key."
      actions={
        <Button icon={RotateCcw} disabled={chat.turns.length === 0} onClick={chat.startOver}>
          Start over
        </Button>
      }
    >
      <Loaded query={keys} skeleton={<Skeletons />} errorTitle="The keys could not be loaded">
        {(keyList) => (
          <Loaded query={models} skeleton={<Skeletons />} errorTitle="The models could not be loaded">
            {(modelList) => (
              <Workbench
                keys={keyList.data.filter(({ state }) => state === 'active' || state === 'replaced')}
                models={modelList.data.filter(({ workload }) => workload === 'chat')}
                chat={chat}
              />
            )}
          </Loaded>
        )}
      </Loaded>
    </Page>
  );
}

function Skeletons() {
  return (
    <Loading className="space-y-6">
      <Skeleton className="h-16 w-full" />
      <Skeleton className="h-[40rem] w-full" />
    </Loading>
  );
}

type WorkbenchProps = Readonly<{
  keys: readonly Key[];
  models: readonly ListedModel[];
  chat: ReturnType<typeof useChat>;
}>;

function Workbench({ keys, models, chat }: WorkbenchProps) {
  const [wantedModel, setWantedModel] = useSearchValue('model');
  const [wantedKey, setWantedKey] = useSearchValue('key');
  const [settings, setSettings] = useState<Settings>({ system: '', parameters: emptyParameters, tools: '' });
  // For a link that names a model, a key that may call it is selected.
  const key =
    keys.find(({ id }) => id === wantedKey) ??
    keys.find((candidate) => wantedModel === '' || mayCall(candidate, wantedModel)) ??
    keys[0];
  const model =
    models.find(({ id }) => id === wantedModel) ?? models.find(({ id }) => mayCall(key, id)) ?? models[0];
  if (key === undefined || model === undefined) return <NothingToUse isKeyMissing={key === undefined} />;
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Model">
          <Select
            value={model.id}
            options={models.map(({ id, name }) => ({
              value: id,
              label: name === id ? id : `${name} (${id})`,
              isDisabled: !mayCall(key, id),
            }))}
            onChange={setWantedModel}
          />
        </Field>
        <Field label="Key">
          <Picker
            value={key.id}
            options={keys.map(({ id, name, hint }) => ({ value: id, label: `${name} (${hint})` }))}
            onChange={setWantedKey}
          />
        </Field>
      </div>
      <div className="grid items-start gap-6 lg:grid-cols-[minmax(0,1fr)_20rem]">
        <ChatCard chat={chat} apiKey={key} model={model} settings={settings} />
        <SettingsPanel settings={settings} onChange={setSettings} model={model} />
      </div>
    </>
  );
}

function NothingToUse({ isKeyMissing }: Readonly<{ isKeyMissing: boolean }>) {
  return (
    <Card>
      {isKeyMissing ? (
        <EmptyState
          icon={KeyRound}
          title="The playground needs a key"
          action={
            <LinkButton to="/keys" variant="primary">
              Go to keys
            </LinkButton>
          }
        >
          Requests are charged to a key, and this account has no active key.
        </EmptyState>
      ) : (
        <EmptyState title="No chat models available">
          The operator of this gateway has to configure a provider first.
        </EmptyState>
      )}
    </Card>
  );
}
