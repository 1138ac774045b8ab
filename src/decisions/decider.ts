/** The types of decisions. Names that a client chose are only ever keys of maps. */
import type { AnsweredCall } from './errors.ts';

export type Question =
  | Readonly<{ type: 'noul'; instructions: string }>
  | Readonly<{ type: 'choice'; instructions: string; options: ReadonlyMap<string, string> }>
  | Readonly<{ type: 'score'; instructions: string; levels: readonly string[] }>;

export type Questions = ReadonlyMap<string, Question>;

export type DecisionRequest = Readonly<{
  model: string;
  questions: Questions;
  /** The body exactly as the client sent it, to be passed on unchanged. */
  text: string;
}>;

export type Answer =
  | Readonly<{ type: 'noul'; probability: number }>
  | Readonly<{
      type: 'choice';
      choice: string;
      probabilities: ReadonlyMap<string, number>;
      confidence: number | null;
    }>
  | Readonly<{
      type: 'score';
      score: number;
      /** By level. */
      probabilities: readonly number[];
      legend: readonly string[];
      confidence: number | null;
    }>;

/** A provider's answer that fits the questions. */
export type Verdict = Readonly<{
  /** The version that answered. */
  model: string;
  answers: ReadonlyMap<string, Answer>;
  usage: Readonly<{ inputTokens: number; outputTokens: number }>;
  /** What the provider says it charged; null when it does not say. For display only. */
  chargeUsd: number | null;
}>;

export type Decision = Verdict & Readonly<{ upstream: AnsweredCall }>;

/** The user, and how long the request has waited in the queue. */
export type Asker = Readonly<{ userId: string; waitedMs: number }>;

/** A decision provider, or a chat model that is asked for probabilities. */
export type DecisionSource = Readonly<{
  /** The identifier that requests must name. */
  model: string;
  /** Asks once. Throws a DecisionError; when the signal is aborted that is a `timeout`. */
  ask: (request: DecisionRequest, requestId: string, signal: AbortSignal, asker: Asker) => Promise<Decision>;
}>;

/** A source with the retries and the deadline of the contract. */
export type Decider = Readonly<{
  model: string;
  /** `client` is aborted when the client has gone. The time spent in the queue counts towards the deadline. */
  decide: (
    request: DecisionRequest,
    requestId: string,
    client: AbortSignal,
    asker: Asker,
  ) => Promise<Decision & Readonly<{ latencyMs: number }>>;
}>;
