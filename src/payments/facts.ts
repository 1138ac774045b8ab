/** What Stripe's objects say about an order, in our words. */

/** A refund or a dispute. Amounts are in cents, with tax. */
export type Reversal = Readonly<{
  id: string;
  kind: 'refund' | 'dispute';
  amount: bigint;
  status: string;
  createdAtSeconds: number;
}>;

/** The owner of the card has reported the payment as fraud, and may dispute it. */
export type Warning = Readonly<{
  id: string;
  /** In Stripe's word, such as made_with_stolen_card. */
  fraudType: string;
  /** Whether the payment was neither refunded nor disputed so far. */
  isActionable: boolean;
}>;

export type Card = Readonly<{
  paymentMethod: string;
  brand: string | null;
  last4: string | null;
  /** As YYYY-MM. */
  expires: string | null;
}>;

export type Facts = Readonly<{
  /** The ID of the order that the object names; null when it names none. */
  order: string | null;
  /** Whether it was paid in the way that the order asked for. */
  isRightMethod: boolean;
  isLive: boolean;
  customer: string | null;
  currency: string | null;
  /** In cents, before tax and discounts. */
  subtotal: bigint | null;
  discount: bigint;
  progress: 'open' | 'processing' | 'paid' | 'failed' | 'expired';
  /** What the customer has paid, with tax, in cents. */
  received: bigint;
  /** Why nothing was paid, in Stripe's word, such as card_declined. */
  failure: string | null;
  invoice: string | null;
  paymentIntent: string | null;
  receiptUrl: string | null;
  /** The card that was saved for later; null when none was. */
  card: Card | null;
  reversals: readonly Reversal[];
  warnings: readonly Warning[];
}>;
