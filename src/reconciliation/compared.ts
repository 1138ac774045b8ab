/** What a comparison of a bill with the metered cost found. */
import type { Money } from '../lib/money.ts';

/** For so long after its end, providers still correct a day. */
export const preliminaryHours = 72;

export type ExplanationKind =
  | 'attempts_without_usage'
  | 'without_cost'
  | 'across_midnight'
  | 'not_mapped'
  | 'not_a_model'
  | 'list_price'
  | 'preliminary';

/** Null and empty where the kind has no such figure. */
export type Explanation = Readonly<{
  kind: ExplanationKind;
  /** How many requests or attempts. */
  count: number | null;
  amount: Money | null;
  /** The day that a difference cancels out with. */
  day: string | null;
  /** Of models, or of what the bill names instead. */
  names: readonly string[];
}>;

export type ComparedModel = Readonly<{
  /** The provider's name for the model, or what the bill says instead. */
  name: string;
  kind: 'model' | 'not_mapped' | 'not_a_model';
  metered: Money;
  billed: Money;
  difference: Money;
  isWithin: boolean;
}>;

export type ComparedDay = Readonly<{
  day: string;
  charged: Money;
  /** All of the metered cost, with that of attempts that no customer was charged for. */
  metered: Money;
  uncharged: Money;
  /** Null when there is no bill for this day. So are the next two. */
  billed: Money | null;
  /** What the provider billed beyond the metered cost. */
  difference: Money | null;
  isWithin: boolean | null;
  tolerance: Money;
  isPreliminary: boolean;
  models: readonly ComparedModel[];
  explanations: readonly Explanation[];
}>;
