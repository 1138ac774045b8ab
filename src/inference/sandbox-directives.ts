/**
 * Checks the `[[…]]` in a request that only the gateway's own sandbox can serve. The sandbox rejects a typo by itself, but
 * what a provider says about a request is not passed on.
 */
import { BadDirective, directives, readDirectives } from '../../sandbox/scenario.ts';
import { ApiError } from '../errors.ts';
import { nearest, suggestion } from '../lib/nearest.ts';
import type { ChatCall } from '../providers/chat.ts';
import type { Candidate } from '../routing/candidates.ts';

/** A longer text could hold a million of them, and everyone would wait until they are read. */
const maxChecked = 100_000;

export function checkDirectives(candidates: readonly Candidate[], textOf: () => string, param: string): void {
  if (candidates.some(({ connection }) => connection.provider.adapter !== 'sandbox')) return;
  const text = textOf();
  if (text.length > maxChecked) return;
  try {
    readDirectives(text);
  } catch (error) {
    if (!(error instanceof BadDirective)) throw error;
    throw new ApiError('invalid_parameter', {
      param,
      message: explain(error.directive),
      docs: 'sandbox#directives',
    });
  }
}

const maxShown = 40;

function explain(name: string): string {
  if (Object.hasOwn(directives, name)) return `The value of the sandbox directive [[${name}]] is invalid.`;
  const shown = name.length > maxShown ? `${name.slice(0, maxShown)}…` : name;
  const near = nearest(name, Object.keys(directives)).map((known) => `[[${known}]]`);
  return `The sandbox does not know the directive [[${shown}]].${suggestion(near)}`;
}

/** Where the sandbox looks for directives in a conversation. */
export function lastUserText({ messages }: ChatCall): string {
  const content = messages.findLast(({ role }) => role === 'user')?.content ?? '';
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
}
