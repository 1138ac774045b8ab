/** What all makers of hostile requests have in common. */
import type { Random } from '../random.ts';
import { chatBody } from './bodies.ts';
import { chatModels } from './catalog.ts';
import { encode, type HostileRequest, type Parts } from './request.ts';

/** Keys that exist, by what is wrong with them. */
export type Keys = Readonly<
  Record<'good' | 'broke' | 'revoked' | 'expired' | 'suspended' | 'restricted' | 'limited' | 'slow', string>
>;

export type Maker = (random: Random, keys: Keys, number: number) => HostileRequest;

export type Header = readonly [string, string];

export const chat = '/v1/chat/completions';

export const json: Header = ['content-type', 'application/json'];

export const bearer = (key: string): Header => ['authorization', `Bearer ${key}`];

export function request(name: string, parts: Parts, more: Partial<HostileRequest> = {}): HostileRequest {
  return {
    name,
    bytes: encode(parts),
    framing: 'sound',
    answers: 1,
    isHeadOnly: parts.method === 'HEAD',
    leave: null,
    isApi: parts.target?.startsWith('/v1/') === true,
    provokes: 'nothing',
    ...more,
  };
}

export function post(target: string, key: string, body: Buffer | string, ...headers: Header[]): Parts {
  return { method: 'POST', target, headers: [bearer(key), json, ...headers], body };
}

/** A text to which the sandbox answers at once. */
export const plainChat = (random: Random) => chatBody(random, random.pick(chatModels), 'Hello [[say hi]]');

export const somebody = (random: Random, keys: Keys) => random.pick([keys.good, keys.broke]);
