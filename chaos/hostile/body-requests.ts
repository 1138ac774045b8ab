/** Requests whose body, or its description, is hostile. */
import type { Random } from '../random.ts';
import { chatBody, heavyBodies, imageBody, mutateTree, textMutations } from './bodies.ts';
import { imageModel, uncallableModels } from './catalog.ts';
import { bearer, chat, type Header, json, type Maker, plainChat, post, request, somebody } from './maker.ts';

const anyBody = (random: Random): { target: string; body: ReturnType<typeof chatBody> } =>
  random.happens(0.85)
    ? { target: chat, body: plainChat(random) }
    : { target: '/v1/images/generations', body: imageBody(random, imageModel, 'A cat') };

export const brokenText: Maker = (random, keys) => {
  const { target, body } = anyBody(random);
  const { name, of } = random.pick(textMutations);
  return request(`body ${name}`, post(target, somebody(random, keys), of(JSON.stringify(body), random)), {
    provokes: 'failure',
  });
};

export const oddFields: Maker = (random, keys) => {
  const { target, body } = anyBody(random);
  let mutated = mutateTree(body, random);
  if (random.happens(0.3) && typeof mutated === 'object' && mutated !== null && !Array.isArray(mutated))
    mutated = mutateTree(mutated, random);
  return request('body with odd fields', post(target, somebody(random, keys), JSON.stringify(mutated)), {
    provokes: 'failure',
  });
};

export const heavyBody: Maker = (random, keys) => {
  const { name, of } = random.pick(heavyBodies);
  return request(
    `heavy body: ${name}`,
    post(chat, somebody(random, keys), of(JSON.stringify(plainChat(random)), random)),
  );
};

export const oddType: Maker = (random, keys) => {
  const type = random.pick<Header[]>([
    [],
    [['content-type', 'text/plain']],
    [['content-type', 'multipart/form-data; boundary=x']],
    [['content-type', 'application/json; charset=latin1']],
    [['content-type', 'application/json; charset="utf-8"']],
    [['content-type', 'application/x-www-form-urlencoded']],
    [['content-type', 'x'.repeat(3_000)]],
    [json, ['content-encoding', random.pick(['gzip', 'br', 'identity', 'x'])]],
    [json, json],
  ]);
  return request('odd Content-Type', {
    method: 'POST',
    target: chat,
    headers: [bearer(keys.good), ...type],
    body: JSON.stringify(plainChat(random)),
  });
};

export const uncallable: Maker = (random, keys) =>
  request(
    'model that cannot be called',
    post(
      chat,
      keys.good,
      JSON.stringify(chatBody(random, random.pick([...uncallableModels, imageModel]), 'hi')),
    ),
  );
