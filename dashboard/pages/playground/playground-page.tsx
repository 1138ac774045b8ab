/** A conversation with a model, or images from one, charged through a key of the account. */
import { KeyRound, RotateCcw } from 'lucide-react';
import { useEffect } from 'react';
import type { Key } from '../../../src/console/contract.ts';
import { useReplaceSearch, useSearchParameters } from '../../address.ts';
import { useAccount } from '../../api/session.ts';
import { Button, LinkButton } from '../../kit/button.tsx';
import { Callout } from '../../kit/callout.tsx';
import { Card } from '../../kit/card.tsx';
import { Field, Select } from '../../kit/field.tsx';
import { Page } from '../../kit/page.tsx';
import { Picker } from '../../kit/picker.tsx';
import { EmptyState, Loaded, Loading, Skeleton } from '../../kit/states.tsx';
import { useKeys } from '../keys/queries.ts';
import { type ListedModel, useModels } from '../models/models.ts';
import { whyNotCallable } from '../models/why-not-callable.ts';
import { ChatCard } from './chat-card.tsx';
import { ImageCard } from './image-card.tsx';
import { mayCall, selectPair, type Wanted } from './selection.ts';
import { SettingsPanel } from './settings-panel.tsx';
import { type Chat, useChat } from './use-chat.ts';
import { type Images, useImages } from './use-images.ts';
import { type PlaygroundWork, usePlaygroundWork } from './use-playground-work.ts';

/** Each account has its own keys and its own conversation. */
export function PlaygroundPage() {
  const { id } = useAccount();
  return <Playground key={id} />;
}

function Playground() {
  const [work, change] = usePlaygroundWork();
  const chat = useChat({
    turns: work.turns,
    onTurns: (turns) => change({ turns }),
    onUnsent: (turns, draft) => change({ turns, draft }),
  });
  const images = useImages(work.imageResults, (imageResults) => change({ imageResults }));
  const models = useModels();
  const keys = useKeys();
  const startOver = () => {
    images.startOver();
    chat.startOver();
  };
  return (
    <Page
      title="Playground"
      description="Try a model. Each request is a real one, charged to your account through the selected key."
      actions={
        <Button
          icon={RotateCcw}
          disabled={work.turns.length === 0 && work.imageResults.length === 0}
          onClick={startOver}
        >
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
                models={modelList.data}
                chat={chat}
                images={images}
                work={work}
                change={change}
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
  chat: Chat;
  images: Images;
  work: PlaygroundWork;
  change: (part: Partial<PlaygroundWork>) => void;
}>;

function Workbench({ keys, models, chat, images, work, change }: WorkbenchProps) {
  const search = useSearchParameters();
  const replaceSearch = useReplaceSearch();
  const callable = models.filter(({ endpoint }) => endpoint !== null);
  const named = typeof search.model === 'string' ? search.model : '';
  const wanted: Wanted = {
    model: named === '' ? work.wanted.model : named,
    key: typeof search.key === 'string' ? search.key : work.wanted.key,
  };
  const { key, model } = selectPair(keys, callable, wanted);
  const [keyId, modelId] = [key?.id, model?.id];
  // Remembered for a return by a link that names neither.
  useEffect(() => {
    if (keyId !== undefined && modelId !== undefined) change({ wanted: { model: modelId, key: keyId } });
  }, [change, keyId, modelId]);
  if (key === undefined || model === undefined) return <NothingToUse isKeyMissing={key === undefined} />;
  const choose = (next: Wanted) => {
    const pair = selectPair(keys, callable, next);
    replaceSearch((before) => ({ ...before, model: pair.model?.id ?? '', key: pair.key?.id ?? '' }));
  };
  return (
    <>
      {named !== '' && named !== model.id && <UnavailableNote id={named} models={models} />}
      <ModelAndKeyFields keys={keys} models={callable} apiKey={key} model={model} onChoose={choose} />
      {model.workload === 'image' ? (
        <ImageCard
          images={images}
          results={work.imageResults}
          form={work.imageForm}
          onChange={(imageForm) => change({ imageForm })}
          apiKey={key}
          model={model}
        />
      ) : (
        <div className="grid items-start gap-6 lg:grid-cols-[minmax(0,1fr)_20rem]">
          <ChatCard
            chat={chat}
            draft={work.draft}
            onDraft={(draft) => change({ draft })}
            apiKey={key}
            model={model}
            settings={work.settings}
          />
          <SettingsPanel
            settings={work.settings}
            onChange={(settings) => change({ settings })}
            model={model}
          />
        </div>
      )}
    </>
  );
}

type ModelAndKeyFieldsProps = Readonly<{
  keys: readonly Key[];
  models: readonly ListedModel[];
  apiKey: Key;
  model: ListedModel;
  onChoose: (next: Wanted) => void;
}>;

/** Which model is called, and through which key. */
function ModelAndKeyFields({ keys, models, apiKey, model, onChoose }: ModelAndKeyFieldsProps) {
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <Field label="Model">
        <Select
          value={model.id}
          options={models.map(({ id, name }) => ({
            value: id,
            label: name === id ? id : `${name} (${id})`,
            isDisabled: !keys.some((candidate) => mayCall(candidate, id)),
          }))}
          onChange={(id) => onChoose({ model: id, key: apiKey.id })}
        />
      </Field>
      <Field label="Key">
        <Picker
          value={apiKey.id}
          options={keys.map(({ id, name, hint }) => ({ value: id, label: `${name} (${hint})` }))}
          onChange={(id) => {
            const next = keys.find((candidate) => candidate.id === id);
            // A key that may not call this model comes with one that it may call.
            onChoose({ model: next !== undefined && mayCall(next, model.id) ? model.id : '', key: id });
          }}
        />
      </Field>
    </div>
  );
}

/** For an address that names a model that cannot be tried. */
function UnavailableNote({ id, models }: Readonly<{ id: string; models: readonly ListedModel[] }>) {
  const listed = models.find((model) => model.id === id);
  return listed === undefined ? (
    <Callout tone="warn" title={`There is no model ${id}`}>
      It may have been removed or renamed. Another model is selected.
    </Callout>
  ) : (
    <Callout tone="warn" title={`${listed.name} cannot be called`}>
      {whyNotCallable(listed)} Another model is selected.
    </Callout>
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
          Requests are charged through a key, and this account has no active key.
        </EmptyState>
      ) : (
        <EmptyState title="No models available">
          The operator of this gateway has to configure a provider first.
        </EmptyState>
      )}
    </Card>
  );
}
