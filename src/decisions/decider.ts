/** What is asked and what is answered, in words of our own: names that a client chose are keys of maps and nothing else. */
import type { AnsweredCall } from './errors.ts';

export type Question =
  | Readonly<{ type: 'noul'; instructions: string }>
  | Readonly<{ type: 'choice'; instructions: string; options: ReadonlyMap<string, string> }>
  | Readonly<{ type: 'score'; instructions: string; levels: readonly string[] }>;

export type Questions = ReadonlyMap<string, Question>;

export type DecisionRequest = Readonly<{
  model: string;
  questions: Questions;
  /** The whole body as the client wrote it: what was checked is what is sent, with every digit and in the same order. */
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

/** What a provider said, once it is known to fit the questions. */
export type Verdict = Readonly<{
  /** The version that answered. */
  model: string;
  answers: ReadonlyMap<string, Answer>;
  usage: Readonly<{ inputTokens: number; outputTokens: number }>;
  /** What the provider reports that it charged; null when it reports nothing. It is only shown. */
  chargeUsd: number | null;
}>;

export type Decision = Verdict & Readonly<{ upstream: AnsweredCall }>;

/** The person who asks, and for how long the question has waited for its turn. */
export type Asker = Readonly<{ userId: string; waitedMs: number }>;

/** What answers questions: a decision provider, or a chat model that is asked for probabilities. */
export type DecisionSource = Readonly<{
  /** The identifier that requests must name. */
  model: string;
  /** Asks once. Throws a DecisionError; when the signal is aborted that is a `timeout`. */
  ask: (request: DecisionRequest, requestId: string, signal: AbortSignal, asker: Asker) => Promise<Decision>;
}>;

/** A source with the patience of the contract. */
export type Decider = Readonly<{
  model: string;
  /** `client` is aborted when nobody waits for the answer any more. What was waited for the turn is gone from the deadline. */
  decide: (
    request: DecisionRequest,
    requestId: string,
    client: AbortSignal,
    asker: Asker,
  ) => Promise<Decision & Readonly<{ latencyMs: number }>>;
}>;
