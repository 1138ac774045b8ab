/** One conversation, with the response in progress. */
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { PlaygroundRequest } from '../../../src/console/contract.ts';
import { reportReachable, send } from '../../api/client.ts';
import { accountPath, useAccount } from '../../api/session.ts';
import type { ChatRequestBody } from '../../kit/code-samples.ts';
import { onConnectionEnd, splitEvents, withBody, withEvent } from './answer-stream.ts';
import { type AssistantTurn, emptyTurn, type Turn, type UserTurn } from './conversation.ts';
import { endOf, refreshAfterRequest } from './end-of-request.ts';

export type Chat = Readonly<{
  turns: readonly Turn[];
  isBusy: boolean;
  /** Shows these turns and requests the response to them. */
  ask: (turns: readonly Turn[], keyId: string, request: ChatRequestBody) => void;
  stop: () => void;
  startOver: () => void;
}>;

type ChatProps = Readonly<{
  turns: readonly Turn[];
  onTurns: (turns: readonly Turn[]) => void;
  /** A message that was not accepted because the session has ended, to be sent again after the next sign-in. */
  onUnsent: (turns: readonly Turn[], draft: UserTurn) => void;
}>;

export function useChat({ turns, onTurns, onUnsent }: ChatProps): Chat {
  const { id: accountId } = useAccount();
  const queryClient = useQueryClient();
  const [running, setRunning] = useState<AbortController | null>(null);
  const latest = useRef<AbortController | null>(null);
  useEffect(() => () => latest.current?.abort(), []);

  const ask: Chat['ask'] = (before, keyId, request) => {
    const controller = new AbortController();
    latest.current = controller;
    setRunning(controller);
    let turn = emptyTurn;
    const show = (next: AssistantTurn) => {
      turn = next;
      if (latest.current === controller) onTurns([...before, next]);
    };
    show(emptyTurn);
    const path = accountPath(accountId, 'playground', 'chat');
    readResponse(path, { key_id: keyId, request }, controller.signal, () => turn, show)
      .catch((error: unknown) => {
        const end = endOf(error, controller.signal, turn);
        const message = before.at(-1);
        const isUnsent = end.ending?.kind === 'failed' && end.ending.problem.code === 'session_required';
        if (isUnsent && message?.kind === 'user') onUnsent(before.slice(0, -1), message);
        else show({ ...turn, ...end });
      })
      .finally(() => {
        if (latest.current === controller) setRunning(null);
        refreshAfterRequest(queryClient, accountId);
      });
  };
  const startOver = () => {
    latest.current?.abort();
    latest.current = null;
    setRunning(null);
    onTurns([]);
  };
  return { turns, isBusy: running !== null, ask, stop: () => running?.abort(), startOver };
}

async function readResponse(
  path: string,
  body: PlaygroundRequest,
  signal: AbortSignal,
  current: () => AssistantTurn,
  show: (turn: AssistantTurn) => void,
): Promise<void> {
  const response = await send('POST', path, body, {
    signal,
    headers: { accept: 'text/event-stream, application/json' },
  });
  show({ ...current(), requestId: response.headers.get('x-service-request-id') });
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
  if (!isStream || response.body === null) {
    const responseBody: unknown = await orNullIfBroken(response.json(), signal);
    show(responseBody === null ? onConnectionEnd(current()) : withBody(current(), responseBody));
    return;
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const part = await orNullIfBroken(reader.read(), signal);
    if (part === null || part.done) break;
    const split = splitEvents(rest + part.value);
    rest = split.rest;
    if (split.events.length > 0) show(split.events.reduce(withEvent, current()));
  }
  show(onConnectionEnd(current()));
}

/** Null if the connection broke: a response that was complete by then stays complete. */
async function orNullIfBroken<Part>(reading: Promise<Part>, signal: AbortSignal): Promise<Part | null> {
  try {
    return await reading;
  } catch (error) {
    if (signal.aborted) throw error;
    reportReachable(false);
    return null;
  }
}
