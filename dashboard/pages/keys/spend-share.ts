/** How much of a limit is used up. The amounts are exact texts; only the share, which is drawn, is a number. */
const scaleDigits = 12;
const steps = 1_000_000n;

function unitsOf(amount: string): bigint {
  const [whole = '0', fraction = ''] = amount.split('.');
  return BigInt(`${whole}${fraction.padEnd(scaleDigits, '0')}`);
}

/** From 0 on; 1 and more is all of it. A limit of nothing is used up from the start. */
export function shareOfLimit(spent: string, limit: string): number {
  const most = unitsOf(limit);
  return most === 0n ? 1 : Number((unitsOf(spent) * steps) / most) / Number(steps);
}

/** Green says that all is well, which a bar that fills up should not: it is plain until it matters. */
export function toneOfShare(share: number): 'accent' | 'warn' | 'bad' {
  if (share >= 1) return 'bad';
  return share >= 0.8 ? 'warn' : 'accent';
}
