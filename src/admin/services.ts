import type { SQL } from 'bun';
import type { Exports } from '../exports/exports.ts';
import type { DerivedKeys } from '../lib/derived-keys.ts';
import type { Payments } from '../payments/sweep.ts';
import type { Attempts } from '../people/attempts.ts';
import type { InvitationMail } from '../people/invitation-mail.ts';
import type { ActiveCatalog, FollowedCatalog } from '../routing/active-catalog.ts';

/** What the endpoints of the admin API need together. Each file of endpoints uses a part. */
export type AdminServices = Readonly<{
  sql: SQL;
  /** For lists and reports, which may be a few seconds old. */
  reads: () => SQL;
  exports: Exports;
  deriveKey: DerivedKeys;
  catalog: () => ActiveCatalog;
  catalogFile: string;
  catalogStatus: FollowedCatalog['status'];
  /** The ID of this process in the table `nodes`. */
  nodeId: string;
  /** The gateway's address as browsers know it; null when the operator has not configured it. */
  publicUrl: string | null;
  /** How often mail may be sent. */
  attempts: Attempts;
  /** Null when the gateway cannot send mail. */
  invitationMail: InvitationMail | null;
  /** Null when nothing can be paid. */
  payments: Payments | null;
}>;
