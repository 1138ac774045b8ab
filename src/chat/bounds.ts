/**
 * The most input tokens a call may be billed for, from which its hold is computed. Bytes are counted, not tokens: a
 * tokenizer can take seconds on a text crafted for that. docs/token-bounds.md has the measurements and sources of all
 * figures here.
 */
import type { Model } from '../models/model.ts';
import {
  type AnswerItem,
  type ChatCall,
  type ChatMessage,
  type ImagePart,
  type ResponseFormat,
  type TextPart,
  type Tool,
  textOf,
} from '../providers/chat.ts';
import { type InputBound, InputTally } from './input-tally.ts';

/** What providers put before every conversation: start tokens, the date, a system prompt of their own. */
const requestAllowance = 1_024;
/** Roles and separators around a message. */
const messageAllowance = 16;
const partAllowance = 4;
/** The tags or JSON around a tool call, and the prefix of an ID that has to be re-encoded. */
const toolCallAllowance = 64;
/** The tags or JSON around a tool declaration. */
const toolAllowance = 64;
/** The explanation to the model of how to call tools. */
const toolsAllowance = 1_024;
/** The instruction to the model to answer in JSON. */
const formatAllowance = 512;

export function inputBound(call: ChatCall, model: Model): InputBound {
  const tally = new InputTally(model.contextWindow ?? Number.POSITIVE_INFINITY);
  tally.allow(requestAllowance);
  for (const message of call.messages) addMessage(tally, message, model);
  if (call.tools !== null) {
    tally.allow(toolsAllowance);
    for (const tool of call.tools) addTool(tally, tool);
    if (typeof call.toolChoice === 'object' && call.toolChoice !== null)
      tally.addQuoted(call.toolChoice.functionName);
  }
  if (call.responseFormat !== null) addFormat(tally, call.responseFormat);
  return tally.bound();
}

function addMessage(tally: InputTally, message: ChatMessage, model: Model): void {
  tally.allow(messageAllowance);
  switch (message.role) {
    case 'system':
      addPlain(tally, message.content);
      return;
    case 'user':
      if (typeof message.content === 'string') addPlain(tally, message.content);
      else for (const part of message.content) addPart(tally, part, model, addPlain);
      return;
    case 'assistant':
      addAnswer(tally, message.items);
      return;
    case 'tool':
      tally.allow(toolCallAllowance);
      tally.addId(message.toolCallId);
      if (typeof message.content === 'string') addQuoted(tally, message.content);
      else for (const part of message.content) addPart(tally, part, model, addQuoted);
      if (message.name !== null) tally.addQuoted(message.name);
  }
}

function addPart(
  tally: InputTally,
  part: TextPart | ImagePart,
  model: Model,
  addText: (tally: InputTally, text: string) => void,
): void {
  tally.allow(partAllowance);
  if (part.type === 'text') addText(tally, part.text);
  else tally.allow(imageTokens(part, model));
}

function addAnswer(tally: InputTally, items: readonly AnswerItem[]): void {
  for (const item of items) addItem(tally, item);
  const texts = items.filter((item) => item.type === 'text');
  tally.allow(partAllowance * Math.max(0, texts.length - 1));
  if (isKept(items)) for (const { text } of texts) tally.countLeast(text);
}

function addItem(tally: InputTally, item: AnswerItem): void {
  switch (item.type) {
    case 'text':
      tally.addText(item.text);
      return;
    case 'reasoning':
      tally.allow(partAllowance);
      tally.addText(item.text);
      // What it stands for may be longer than what is shown of it, but not than its encrypted form.
      if (item.signature !== null) tally.addText(item.signature.value);
      return;
    case 'tool_call':
      tally.allow(toolCallAllowance);
      tally.addId(item.id);
      tally.addQuoted(item.name);
      // Some formats repeat it with the result.
      tally.repeatQuoted(item.name);
      tally.addArguments(item.arguments);
      tally.countLeast(item.arguments);
  }
}

function addQuoted(tally: InputTally, text: string): void {
  tally.addQuoted(text);
  tally.countLeast(text);
}

function addPlain(tally: InputTally, text: string): void {
  tally.addText(text);
  tally.countLeast(text);
}

/** Some chat templates leave out text beside tool calls, and earlier thinking. */
function isKept(items: readonly AnswerItem[]): boolean {
  return items.every(({ type }) => type !== 'tool_call') && !textOf(items).includes('</think>');
}

function imageTokens({ detail }: ImagePart, model: Model): number {
  return detail === 'low' ? model.imageTokens.low : model.imageTokens.high;
}

function addTool(tally: InputTally, { name, description, parameters }: Tool): void {
  tally.allow(toolAllowance);
  tally.addQuoted(name);
  if (description !== null) tally.addQuoted(description);
  if (parameters !== null) tally.addJson(parameters);
}

function addFormat(tally: InputTally, format: ResponseFormat): void {
  if (format.type === 'text') return;
  tally.allow(formatAllowance);
  if (format.type === 'json_object') return;
  tally.addQuoted(format.name);
  if (format.description !== null) tally.addQuoted(format.description);
  if (format.schema !== null) tally.addJson(format.schema);
}
