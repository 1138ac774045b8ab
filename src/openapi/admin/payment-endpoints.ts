/** Payments and their refunds. */
import { z } from 'zod';
import { paymentRefundSchema } from '../../admin/payments.ts';
import { nameSchema } from '../json-schema.ts';
import { exactUsd, timestamp, uuid } from '../schemas/fields.ts';
import { type AdminEndpoint, page, posting, reading } from './endpoint.ts';
import { listSchema } from './schemas.ts';

nameSchema(paymentRefundSchema, 'AdminPaymentRefundDraft');

const reversalSchema = z.strictObject({
  id: z.string().describe('Of the refund or the dispute at Stripe.'),
  kind: z.enum(['refund', 'dispute']),
  amount: exactUsd.describe('With tax.'),
  status: z.string().describe('In Stripe’s word.'),
  taken: exactUsd.describe('What was taken of the credit.'),
  owed: exactUsd.describe('What could not be taken yet, because the balance did not have it.'),
});

const warningSchema = z.strictObject({
  id: z.string().describe('Of the warning at Stripe.'),
  fraud_type: z.string().describe('In Stripe’s word.'),
  is_actionable: z
    .boolean()
    .describe('Whether the payment was neither refunded nor disputed when the warning came.'),
  created_at: timestamp,
});

const paymentSchema = z
  .strictObject({
    object: z.literal('payment'),
    id: uuid,
    account_id: uuid,
    kind: z.enum(['checkout', 'automatic']),
    amount: exactUsd.describe('The credit: the price before tax.'),
    state: z.enum(['new', 'open', 'processing', 'paid', 'failed', 'expired', 'contradicted']),
    paid: exactUsd.nullable().describe('What was paid, with tax; null before.'),
    receipt_url: z.string().nullable(),
    problem: z
      .string()
      .nullable()
      .describe('Why it failed, or what does not fit; null when nothing is wrong.'),
    payment_intent: z.string().nullable().describe('The ID of the payment at Stripe.'),
    is_live: z.boolean().describe('Whether real money was moved.'),
    reversals: z.array(reversalSchema).describe('Refunds and disputes, the oldest first.'),
    warnings: z.array(warningSchema).describe('Early warnings of fraud.'),
    look_problem: z
      .string()
      .nullable()
      .describe('Why Stripe could not be asked the last time; null when it could.'),
    created_at: timestamp,
  })
  .meta({ id: 'AdminPayment', description: 'A payment that was asked for, and what has become of it.' });

const paymentRefund = z
  .strictObject({
    object: z.literal('payment_refund'),
    id: z.string().describe('Of the refund at Stripe.'),
    payment_id: uuid,
    amount: exactUsd.describe('What the customer gets back, with tax.'),
    status: z.string().describe('In Stripe’s word.'),
    reference: z.string(),
  })
  .meta({ id: 'AdminPaymentRefund', description: 'A refund of a payment, or of a part of it.' });

export const paymentEndpoints: readonly AdminEndpoint[] = [
  reading({
    path: '/accounts/{account}/payments',
    operationId: 'listPayments',
    scope: 'read',
    summary: 'List payments',
    query: page,
    response: listSchema(paymentSchema, 'AdminPaymentList', 'A page of payments.'),
    errors: ['invalid_cursor'],
  }),
  reading({
    path: '/payments/{payment}',
    operationId: 'getPayment',
    scope: 'read',
    summary: 'Read a payment',
    response: paymentSchema,
    errors: ['payment_not_found'],
  }),
  posting({
    path: '/payments/{payment}/refunds',
    operationId: 'refundPayment',
    scope: 'money',
    summary: 'Refund a payment',
    description:
      'Has Stripe give back what was paid and not refunded yet, or with an `amount` a part of that, with tax. The credit that ' +
      'this takes appears as a correction. With the same `reference` nothing more is refunded, however often it is sent; ' +
      'there is no `Idempotency-Key`.',
    body: { schema: paymentRefundSchema, example: { amount: '11.90', reference: 'TICKET-13' } },
    isOnceByReference: true,
    status: 201,
    response: paymentRefund,
    errors: [
      'payment_not_found',
      'payments_not_configured',
      'payment_provider_error',
      'reference_in_use',
      'amount_too_large',
      'nothing_left',
    ],
  }),
];
