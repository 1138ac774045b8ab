/** The conversation, and the same request as code. */
import { useState } from 'react';
import type { Key } from '../../../src/console/contract.ts';
import { useMe } from '../../api/session.ts';
import { curlOf, pythonOf, typescriptOf } from '../../kit/code-samples.ts';
import type { ListedModel } from '../models/models.ts';
import { CodeTab } from './code-tab.tsx';
import { Composer, ToolResults } from './composer.tsx';
import { chatRequestOf, openCalls, type Turn, turnsAsCode, type UserTurn } from './conversation.ts';
import { mayCall } from './selection.ts';
import { parseParameters, parseTools } from './settings.ts';
import type { Settings } from './settings-panel.tsx';
import { TurnList } from './turn-list.tsx';
import type { Chat } from './use-chat.ts';
import { emptyDraft } from './use-playground-work.ts';
import { ViewCard } from './view-card.tsx';

type ChatCardProps = Readonly<{
  chat: Chat;
  draft: UserTurn;
  onDraft: (draft: UserTurn) => void;
  apiKey: Key;
  model: ListedModel;
  settings: Settings;
}>;

export function ChatCard({ chat, draft, onDraft, apiKey, model, settings }: ChatCardProps) {
  const [view, setView] = useState<'try' | 'code'>('try');
  const { api_origin: apiOrigin } = useMe();
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
    <ViewCard title="Conversation" label="Chat" view={view} onChange={setView}>
      {view === 'code' ? (
        <CodeTab
          code={codeTurns.length === 0 ? null : codeOf(apiOrigin, requestFor(codeTurns))}
          emptyText="Write a message to see its request as code."
        />
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
              onChange={onDraft}
              takesImages={takesImages}
              isBusy={chat.isBusy}
              obstacle={obstacle}
              onSend={() => {
                onDraft(emptyDraft);
                ask([...chat.turns, { ...sent, text: sent.text.trim() }]);
              }}
              onStop={chat.stop}
            />
          )}
        </>
      )}
    </ViewCard>
  );
}

function codeOf(apiOrigin: string, request: ReturnType<typeof chatRequestOf>) {
  return {
    curl: curlOf(apiOrigin, request),
    python: pythonOf(apiOrigin, request),
    typescript: typescriptOf(apiOrigin, request),
  };
}
