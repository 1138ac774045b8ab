/** A conversation with a model, by a key of the account and charged to it, and the same as code. */
import { KeyRound, RotateCcw } from 'lucide-react';
import { useState } from 'react';
import type { Key } from '../../../src/console/contract.ts';
import { useSearchValue } from '../../address.ts';
import { useAccount } from '../../api/session.ts';
import { Button, LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Page } from '../../kit/page.tsx';
import { EmptyState, Loaded, Skeleton } from '../../kit/states.tsx';
import { useKeys } from '../keys/queries.ts';
import { type ListedModel, useModels } from '../models/models.ts';
import { ChatCard } from './chat-card.tsx';
import { Choosers, inForce, mayCall } from './choosers.tsx';
import { emptyParameters } from './settings.ts';
import { type Settings, SettingsPanel } from './settings-panel.tsx';
import { useChat } from './use-chat.ts';

/** Another account has other keys, and its own conversation. */
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
      description="Try a model. Each message is a real request, charged to the key that you choose."
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
                keys={inForce(keyList.data)}
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
    <div role="status" className="space-y-6">
      <span className="sr-only">Loading …</span>
      <Skeleton className="h-16 w-full" />
      <Skeleton className="h-[40rem] w-full" />
    </div>
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
  // A link that names a model is met with a key that may call it.
  const key =
    keys.find(({ id }) => id === wantedKey) ??
    keys.find((candidate) => wantedModel === '' || mayCall(candidate, wantedModel)) ??
    keys[0];
  const model =
    models.find(({ id }) => id === wantedModel) ?? models.find(({ id }) => mayCall(key, id)) ?? models[0];
  if (key === undefined || model === undefined) return <NothingToUse isKeyMissing={key === undefined} />;
  return (
    <>
      <Choosers
        models={models}
        keys={keys}
        model={model}
        apiKey={key}
        onModel={setWantedModel}
        onKey={setWantedKey}
      />
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
              Go to the keys
            </LinkButton>
          }
        >
          Requests are charged to a key, and this account has none that is in force.
        </EmptyState>
      ) : (
        <EmptyState title="No chat model is offered">
          The operator of this gateway has to configure a provider first.
        </EmptyState>
      )}
    </Card>
  );
}
