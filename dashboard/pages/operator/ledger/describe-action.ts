import type { OperatorAction } from '../../../../src/console/operator-contract.ts';

// biome-ignore format: one line an action is what makes this table readable.
const words: Readonly<Record<OperatorAction['action'], string>> = {
  create_account: 'Created the account',
  credit_account: 'Added credit',
  suspend_account: 'Suspended the account',
  resume_account: 'Resumed the account',
  create_user: 'Created the user',
  make_reset_link: 'Made a password link',
  sign_user_out: 'Signed the user out everywhere',
  make_operator: 'Made an operator',
  unmake_operator: 'Removed as operator',
  add_member: 'Added to an account',
};

export function describeAction(action: OperatorAction['action']): string {
  return words[action];
}
