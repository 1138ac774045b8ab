/** One conversation: what was said so far, and the answer that is under way. */
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { PlaygroundRequest } from '../../../src/console/contract.ts';
import { problemOf, reportReachable, send } from '../../api/client.ts';
import { accountKey, accountPath, useAccount } from '../../api/session.ts';
import type { ChatRequestBody } from '../../kit/code-samples.ts';
import { splitEvents, whenConnectionEnds, withEvent, withWhole } from './answer-stream.ts';
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
  { requestId, ending }: AssistantTurn,
): Pick<AssistantTurn, 'ending' | 'requestId'> {
  if (ending !== null) return { ending, requestId };
  if (signal.aborted) return { ending: { kind: 'stopped' }, requestId };
  const problem = problemOf(error);
  return { ending: { kind: 'failed', problem }, requestId: requestId ?? problem.requestId };
}

async function readAnswer(
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
    const whole: unknown = await untilItBreaks(response.json(), signal);
    show(whole === null ? whenConnectionEnds(current()) : withWhole(current(), whole));
    return;
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const part = await untilItBreaks(reader.read(), signal);
    if (part === null || part.done) break;
    const split = splitEvents(rest + part.value);
    rest = split.rest;
    if (split.events.length > 0) show(split.events.reduce(withEvent, current()));
  }
  show(whenConnectionEnds(current()));
}

/** Null for a connection that broke: an answer that was whole by then stays whole. Who cancelled knows it. */
async function untilItBreaks<Part>(reading: Promise<Part>, signal: AbortSignal): Promise<Part | null> {
  try {
    return await reading;
  } catch (error) {
    if (signal.aborted) throw error;
    reportReachable(false);
    return null;
  }
}
