/** Every public endpoint, in the order in which a reader meets them. */
import { createChatCompletion } from './chat.ts';
import type { Endpoint } from './endpoint.ts';
import { getGeneration, listGenerations } from './generations.ts';
import { createImages } from './images.ts';
import { listModels } from './models.ts';
import { listUsage } from './usage.ts';

export const endpoints: readonly Endpoint[] = [
  listModels,
  createChatCompletion,
  createImages,
  listGenerations,
  getGeneration,
  listUsage,
];
