/** The images that were made, and those in progress. */
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { PlaygroundRequest } from '../../../src/console/contract.ts';
import { send } from '../../api/client.ts';
import { accountPath, useAccount } from '../../api/session.ts';
import { endOf, refreshAfterRequest } from './end-of-request.ts';
import { type ImageRequestBody, type ImageResult, urlsIn, withResult } from './image-request.ts';

export type Images = Readonly<{
  isBusy: boolean;
  generate: (keyId: string, request: ImageRequestBody) => void;
  stop: () => void;
  startOver: () => void;
}>;

export function useImages(
  results: readonly ImageResult[],
  onChange: (results: readonly ImageResult[]) => void,
): Images {
  const { id: accountId } = useAccount();
  const queryClient = useQueryClient();
  const [running, setRunning] = useState<AbortController | null>(null);
  const latest = useRef<AbortController | null>(null);
  useEffect(() => () => latest.current?.abort(), []);

  const generate: Images['generate'] = (keyId, request) => {
    const controller = new AbortController();
    latest.current = controller;
    setRunning(controller);
    const started: ImageResult = {
      number: (results.at(-1)?.number ?? 0) + 1,
      prompt: request.prompt,
      urls: [],
      requestId: null,
      ending: null,
    };
    const show = (part: Partial<ImageResult>) => {
      if (latest.current === controller) onChange(withResult(results, { ...started, ...part }));
    };
    show({});
    const path = accountPath(accountId, 'playground', 'images');
    readImages(path, { key_id: keyId, request }, controller.signal)
      .then(show)
      .catch((error: unknown) => show(endOf(error, controller.signal, started)))
      .finally(() => {
        if (latest.current === controller) setRunning(null);
        refreshAfterRequest(queryClient, accountId);
      });
  };
  const startOver = () => {
    latest.current?.abort();
    latest.current = null;
    setRunning(null);
    onChange([]);
  };
  return { isBusy: running !== null, generate, stop: () => running?.abort(), startOver };
}

async function readImages(
  path: string,
  body: PlaygroundRequest,
  signal: AbortSignal,
): Promise<Partial<ImageResult>> {
  const response = await send('POST', path, body, { signal });
  const requestId = response.headers.get('x-service-request-id');
  return { urls: urlsIn(await response.json()), requestId, ending: { kind: 'finished', reason: null } };
}
