/** What the console API says about grants, to members of an account and to operators. */
import type { GrantCategory, Page } from './contract.ts';

/** GET …/grants?limit&cursor → Grants, the newest first. */
export type Grants = Page<Grant> & {
  /** Null for an account that has only had plain credits: nothing of it is told apart. */
  balances: CategoryBalance[] | null;
  /** Those that have not ended come first. */
  allowances: Allowance[];
};
export type CategoryBalance = {
  category: GrantCategory;
  /** With what is held. */
  amount: string;
  next_expiry: { amount: string; at: string } | null;
};
export type Grant = {
  id: string;
  /** Of the entry that it came with. Null for the balance from before the first grant. */
  entry_number: number | null;
  category: GrantCategory;
  amount: string;
  remaining: string;
  /** From 0 to 100. The lower number is spent first. */
  priority: number;
  expires_at: string | null;
  /** Of its entry. */
  memo: string | null;
  /** What it was given for; null for what does not repeat. */
  allowance_id: string | null;
  voided_at: string | null;
  void_reason: string | null;
  created_at: string;
  state: 'active' | 'used' | 'expired' | 'voided';
};
/** A grant that is given anew each day, week or month, in UTC. Each lasts until the next. */
export type Allowance = {
  id: string;
  account_id: string;
  amount: string;
  every: 'day' | 'week' | 'month';
  priority: number;
  note: string | null;
  /** Null for one that has ended. */
  next_at: string | null;
  created_at: string;
  ended_at: string | null;
};
