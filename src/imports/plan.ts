/** What an import is going to make. It is decided as a whole before anything is written. */
import type { KeySettings } from '../keys/key-store.ts';
import type { LimitKind } from '../ledger/operations.ts';
import type { Money } from '../lib/money.ts';
import type { Role } from '../people/user-store.ts';

export type Source = 'litellm' | 'new-api';

export type PlannedLimit = Readonly<{
  /** The account or key that it is planned for, or an end user of the account. */
  endUser: string | null;
  kind: LimitKind;
  /** In USD, requests or tokens, all on the scale of money. */
  amount: Money;
  increase: Readonly<{ amount: Money; until: Date }> | null;
}>;

/** A setting in the other system's words, and in ours. */
export type Carried = Readonly<{ before: string; after: string }>;

export type PlannedKey = Readonly<{
  hash: Buffer;
  hint: string;
  settings: KeySettings;
  limits: readonly PlannedLimit[];
  /** Null for a valid key. */
  revokedAt: Date | null;
  carried: readonly Carried[];
}>;

export type PlannedCredit = Readonly<{ amount: Money; reference: string; memo: string }>;

export type PlannedAccount = Readonly<{
  /** An account that exists, by its ID, or one that is found or made by its ID in the other system. */
  target: Readonly<{ accountId: string }> | Readonly<{ externalId: string }>;
  name: string;
  isSuspended: boolean;
  priceGroup: string | null;
  members: readonly Readonly<{ email: string; role: Role }>[];
  limits: readonly PlannedLimit[];
  credit: PlannedCredit | null;
  keys: readonly PlannedKey[];
  carried: readonly Carried[];
}>;

/** `key`: it is not imported. `detail`: the rest of what it belongs to is. */
export type Dropped = Readonly<{ what: 'key' | 'detail'; subject: string; reason: string }>;

export type Total = Readonly<{ what: string; before: string; after: string }>;

export type Plan = Readonly<{
  source: Source;
  accounts: readonly PlannedAccount[];
  dropped: readonly Dropped[];
  /** Nothing is written while there are any. */
  obstacles: readonly string[];
  /** To be compared with the other system. */
  totals: readonly Total[];
}>;

/** What is known of this gateway when the plan is made. */
export type Here = Readonly<{
  now: Date;
  isInCatalog: (modelId: string) => boolean;
  isPriceGroup: (name: string) => boolean;
}>;

/** What the operator decided at the command line. */
export type Choices = Readonly<{
  balance: 'none' | 'remaining' | Money;
  /** Keep models on the lists of keys that the catalogue does not have. */
  allowUnknownModels: boolean;
  /** Import keys without those of their limits that have no counterpart here. */
  dropLimits: boolean;
  /** A limit for life becomes one of the same amount per month. */
  lifetimeAsMonthly: boolean;
  withoutPeople: boolean;
}>;

export type LitellmChoices = Choices &
  Readonly<{
    /** An account per organisation instead of per team. */
    byOrganization: boolean;
    /** Takes the keys that nobody owns; null makes an account for them. */
    accountId: string | null;
  }>;

export type NewApiChoices = Choices &
  Readonly<{
    /** How many units of quota are one of its dollars, as a decimal; null to read it from the file. */
    quotaPerUsd: string | null;
    /** What one of its dollars is worth in USD, as a decimal. */
    rate: string;
    /** Customers send their keys without sk-. */
    isBare: boolean;
    ignoreIpLimits: boolean;
  }>;
