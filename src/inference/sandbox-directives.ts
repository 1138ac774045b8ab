/**
 * Checks the `[[…]]` in a request that only the gateway's own sandbox can serve. The sandbox rejects a typo by itself, but
 * what a provider says about a request is not passed on.
 */
import { BadDirective, directives, readDirectives, type Scenario } from '../../sandbox/scenario.ts';
import { ApiError } from '../errors.ts';
import { nearest, suggestion } from '../lib/nearest.ts';
import type { ChatCall } from '../providers/chat.ts';
import type { Candidate } from '../routing/candidates.ts';

/** A longer text could hold a million of them, and everyone would wait until they are read. */
const maxChecked = 100_000;

/** `hasTools` is whether the model could call any. Workloads without tools ignore the directives for them. */
export function checkDirectives(
  candidates: readonly Candidate[],
  textOf: () => string,
  param: string,
  hasTools = true,
): void {
  if (candidates.some(({ connection }) => connection.provider.adapter !== 'sandbox')) return;
  const text = textOf();
  if (text.length > maxChecked) return;
  const { tool, tools } = scenarioOf(text, param);
  if (hasTools || (tool === undefined && tools === undefined)) return;
  const name = tool === undefined ? 'tools' : 'tool';
  throw refused('tools', `The sandbox directive [[${name}]] needs at least one entry in tools.`);
}

function scenarioOf(text: string, param: string): Scenario {
  try {
    return readDirectives(text).scenario;
  } catch (error) {
    throw error instanceof BadDirective ? refused(param, explain(error)) : error;
  }
}

function refused(param: string, message: string): ApiError {
  return new ApiError('invalid_parameter', { param, message, docs: 'sandbox#directives' });
}

const maxShown = 40;

function explain({ directive: name, flaw }: BadDirective): string {
  if (flaw !== null) return `The sandbox directive [[${name}]] ${flaw}.`;
  const shown = name.length > maxShown ? `${name.slice(0, maxShown)}…` : name;
  const near = nearest(name, Object.keys(directives)).map((known) => `[[${known}]]`);
  return `The sandbox does not know the directive [[${shown}]].${suggestion(near)}`;
}

/** Once their results are there, a client may leave the tools out. */
export function expectsTools({ messages, tools }: ChatCall): boolean {
  return (tools?.length ?? 0) > 0 || messages.findLast(({ role }) => role !== 'system')?.role !== 'user';
}

/** Where the sandbox looks for directives in a conversation. */
export function lastUserText({ messages }: ChatCall): string {
  const content = messages.findLast((message) => message.role === 'user')?.content ?? '';
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
}
