/**
 * What a wire format for clients contributes to chat: how a request is read, and how its answer is written, streamed or
 * not. Everything between is the same for all of them.
 */
import type { ApiError } from '../errors.ts';
import type { Incoming } from '../inference/workload.ts';
import type { Charge } from '../ledger/settlement.ts';
import type { ChatAnswer, ChatEvent, ReportedUsage } from '../providers/chat.ts';
import type { OwnNames } from './own-names.ts';
import type { ChatRequest } from './request.ts';

export type ChatDialect<Asked> = Readonly<{
  /** Which endpoint it is, as Generations record it. */
  api: string;
  /** The scope of an idempotency key. */
  route: string;
  /** What it calls the parameters of the chat format, where that differs. Left out: all are the same. */
  names?: OwnNames;
  /** The parameters that its address may have, all without effect. Left out: none. */
  queryParameters?: readonly string[];
  /** Whether the arguments of tool calls are part of its JSON, so that no digit of a number may be lost. Left out: no. */
  keepsNumbers?: boolean;
  /** Whether agents speak it, whose users see nothing of an error but its message. Left out: no. */
  servesAgents?: boolean;
  /** Throws a 400 that names the parameter. */
  parse: (body: unknown, incoming: Incoming) => ChatRequest<Asked>;
  /** The body of a non-streamed response. */
  present: (facts: ResponseFacts<Asked>, answer: ChatAnswer, charge: Charge) => object;
  /** `isPassedOn` is whether the provider speaks the same format, so that its events arrive with their `wire`. */
  openWriter: (facts: ResponseFacts<Asked>, isPassedOn: boolean) => ChatWriter;
  /** Whether a client sees what a model shows of its reasoning. */
  showsReasoning: boolean;
}>;

export type ResponseFacts<Asked> = Readonly<{
  requestId: string;
  createdSeconds: number;
  /** As the client named it. */
  model: string;
  asked: Asked;
}>;

type EventOf<Type extends ChatEvent['type']> = Extract<ChatEvent, { type: Type }>;

/** Writes one stream. What a method returns is sent as it is; nothing is sent for an empty text. */
export type ChatWriter = Readonly<{
  /** Before everything else. `first` is the first event that the client would see. */
  begin: (first: ChatEvent) => string;
  text: (event: EventOf<'text'>) => string;
  reasoning: (event: EventOf<'reasoning'>) => string;
  reasoningEnd: (event: EventOf<'reasoning_end'>) => string;
  toolCall: (event: EventOf<'tool_call'>) => string;
  toolArguments: (event: EventOf<'tool_arguments'>) => string;
  finish: (event: EventOf<'finish'>) => string;
  /** An event of the same format that means nothing to the gateway. */
  wire: (event: EventOf<'wire'>) => string;
  /** The answer is complete and charged. Neither this nor `failure` changes anything: either may be asked for and not sent. */
  complete: (charge: Charge, reported: ReportedUsage) => string;
  /** The stream has failed; nothing but `close` follows. */
  failure: (error: ApiError) => string;
  /** The end of every stream. */
  close: string;
}>;
