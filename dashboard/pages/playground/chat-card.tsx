/** The conversation, and the same request as code. */
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Key } from '../../../src/console/contract.ts';
import { useMe } from '../../api/session.ts';
import { Segmented } from '../../kit/choice.tsx';
import { textLinkClass } from '../../kit/class-names.ts';
import { CodeBlock } from '../../kit/code-block.tsx';
import { type ChatRequestBody, curlOf, keyVariable, pythonOf, typescriptOf } from '../../kit/code-samples.ts';
import { EmptyState } from '../../kit/states.tsx';
import type { ListedModel } from '../models/models.ts';
import { Composer, ToolResults } from './composer.tsx';
import {
  chatRequestOf,
  openCalls,
  type Turn,
  turnsAsCode,
  type UserTurn,
  withShortImages,
} from './conversation.ts';
import { parseParameters, parseTools } from './settings.ts';
import type { Settings } from './settings-panel.tsx';
import { TurnList } from './turn-list.tsx';
import type { Chat } from './use-chat.ts';

export function mayCall(key: Key | undefined, model: string): boolean {
  return key?.allowed_models?.includes(model) ?? true;
}

const emptyDraft: UserTurn = { kind: 'user', text: '', images: [] };

type ChatCardProps = Readonly<{ chat: Chat; apiKey: Key; model: ListedModel; settings: Settings }>;

export function ChatCard({ chat, apiKey, model, settings }: ChatCardProps) {
  const [view, setView] = useState<'chat' | 'code'>('chat');
  const [draft, setDraft] = useState(emptyDraft);
  const parameters = parseParameters(settings.parameters);
  const tools = parseTools(settings.tools);
  const takesImages = model.capabilities.image_input;
  // Images for another model are kept, but not sent to one without image input.
  const sent: UserTurn = takesImages ? draft : { ...draft, images: [] };
  const requestFor = (turns: readonly Turn[]) =>
    chatRequestOf(
      { model, system: settings.system, parameters: parameters.fields, tools: tools.tools },
      turns,
    );
  const ask = (turns: readonly Turn[]) => chat.ask(turns, apiKey.id, requestFor(turns));
  const obstacle = !mayCall(apiKey, model.id)
    ? 'This key may not call this model.'
    : Object.keys(parameters.problems).length > 0 || tools.problem !== null
      ? 'Fix the settings first.'
      : null;
  const calls = chat.isBusy ? [] : openCalls(chat.turns);
  const codeTurns = turnsAsCode(chat.turns, sent);
  return (
    <section className="min-w-0 overflow-hidden rounded-lg border border-line bg-surface shadow-card">
      <header className="flex items-center justify-between gap-3 border-b border-line px-4 py-2.5 sm:px-5">
        <h2 className="font-semibold">{view === 'chat' ? 'Conversation' : 'Code'}</h2>
        <Segmented
          label="View"
          value={view}
          options={[
            { value: 'chat', label: 'Chat' },
            { value: 'code', label: 'Code' },
          ]}
          onChange={setView}
        />
      </header>
      {view === 'code' ? (
        <CodeTab request={codeTurns.length === 0 ? null : requestFor(codeTurns)} />
      ) : (
        <>
          <TurnList turns={chat.turns} isBusy={chat.isBusy} onRetry={() => ask(chat.turns.slice(0, -1))} />
          {calls.length > 0 ? (
            <ToolResults
              key={chat.turns.length}
              calls={calls}
              obstacle={obstacle}
              onSend={(results) => ask([...chat.turns, ...results])}
            />
          ) : (
            <Composer
              draft={sent}
              onChange={setDraft}
              takesImages={takesImages}
              isBusy={chat.isBusy}
              obstacle={obstacle}
              onSend={() => {
                ask([...chat.turns, { ...sent, text: sent.text.trim() }]);
                setDraft(emptyDraft);
              }}
              onStop={chat.stop}
            />
          )}
        </>
      )}
    </section>
  );
}

/** Null while there is no message. */
function CodeTab({ request }: Readonly<{ request: ChatRequestBody | null }>) {
  const { api_origin: apiOrigin } = useMe();
  if (request === null)
    return <EmptyState title="Nothing to show yet">Write a message to see its request as code.</EmptyState>;
  const samples = [
    { label: 'curl', code: curlOf(apiOrigin, request) },
    { label: 'Python', code: pythonOf(apiOrigin, request) },
    { label: 'TypeScript', code: typescriptOf(apiOrigin, request) },
  ];
  return (
    <div className="space-y-3 p-4 sm:p-5">
      <p className="text-ink-soft">
        The code reads the key from the environment variable <code className="font-mono">{keyVariable}</code>.
        Create one under{' '}
        <Link to="/keys" className={textLinkClass}>
          Keys
        </Link>
        .
      </p>
      <CodeBlock
        label="Request as code"
        samples={samples.map((sample) => ({ ...sample, shown: withShortImages(sample.code) }))}
        height="h-[30rem]"
      />
    </div>
  );
}
