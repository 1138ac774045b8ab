/** Amounts as operators write them: plain decimals in USD. */
const amountPattern = /^\d{1,13}(?:\.\d{1,12})?$/;

/** What is wrong with an amount that must be more than nothing; null when nothing is. */
export function amountProblem(text: string): string | null {
  const amount = text.trim();
  if (!amountPattern.test(amount)) return 'Enter an amount such as 20 or 0.50.';
  return /[1-9]/.test(amount) ? null : 'Enter an amount above 0.';
}
