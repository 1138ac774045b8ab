/** One conversation: what was said so far, and the answer that is under way. */
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { send } from '../../api/client.ts';
import { problemOf } from '../../api/problem.ts';
import { accountKey, accountPath, useAccount } from '../../api/session.ts';
import type { ChatRequestBody } from '../../kit/code-samples.ts';
import { endOfStream, splitEvents, whenStreamEnds, withEvent, withWhole } from './answer-stream.ts';
import { type AssistantTurn, type Turn, unwritten } from './conversation.ts';

export type Chat = Readonly<{
  turns: readonly Turn[];
  isBusy: boolean;
  /** Shows these turns, and asks for the answer to them. */
  ask: (turns: readonly Turn[], keyId: string, request: ChatRequestBody) => void;
  stop: () => void;
  startOver: () => void;
}>;

export function useChat(): Chat {
  const { id: accountId } = useAccount();
  const queryClient = useQueryClient();
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const [running, setRunning] = useState<AbortController | null>(null);
  const latest = useRef<AbortController | null>(null);
  useEffect(() => () => latest.current?.abort(), []);

  const ask: Chat['ask'] = (before, keyId, request) => {
    const controller = new AbortController();
    latest.current = controller;
    setRunning(controller);
    let answer = unwritten;
    const show = (next: AssistantTurn) => {
      answer = next;
      if (latest.current === controller) setTurns([...before, next]);
    };
    show(unwritten);
    const path = accountPath(accountId, 'playground', 'chat');
    readAnswer(path, { key_id: keyId, request }, controller.signal, () => answer, show)
      .catch((error: unknown) => show({ ...answer, ...endOf(error, controller.signal, answer) }))
      .finally(() => {
        if (latest.current === controller) setRunning(null);
        for (const what of ['keys', 'overview', 'generations'])
          queryClient.invalidateQueries({ queryKey: accountKey(accountId, what) }).catch(() => {});
      });
  };
  const startOver = () => {
    latest.current?.abort();
    latest.current = null;
    setRunning(null);
    setTurns([]);
  };
  return { turns, isBusy: running !== null, ask, stop: () => running?.abort(), startOver };
}

function endOf(
  error: unknown,
  signal: AbortSignal,
  { requestId }: AssistantTurn,
): Pick<AssistantTurn, 'ending' | 'requestId'> {
  if (signal.aborted) return { ending: { kind: 'stopped' }, requestId };
  const problem = problemOf(error);
  return { ending: { kind: 'failed', problem }, requestId: requestId ?? problem.requestId };
}

async function readAnswer(
  path: string,
  body: unknown,
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
    show(withWhole(current(), await response.json()));
    return;
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const split = splitEvents(rest + value);
    rest = split.rest;
    const events = split.events.filter((data) => data !== endOfStream);
    if (events.length > 0) show(events.reduce(withEvent, current()));
  }
  show(whenStreamEnds(current()));
}
