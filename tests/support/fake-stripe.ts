/**
 * A Stripe that keeps state, as far as payments need it and as its documentation says: idempotency keys, events for each
 * change, refunds that fail later, disputes, invoices that charge a saved card. It sends nothing by itself: the test decides
 * which events are delivered, how often and in which order. Its faults answer late, with an error, or after the effect.
 */
import Stripe from 'stripe';

export type Json = Record<string, unknown>;
export type FakeEvent = Json & { id: string; type: string };

type Fault = Readonly<{
  /** What the method and path have to contain, such as `POST /v1/invoices`. Other work in progress must not match too. */
  path: string;
  /** `before`: nothing was done. `after`: it was, but the answer is an error. */
  when: 'before' | 'after';
}>;

export type FakeStripe = Readonly<{
  url: string;
  secretKey: string;
  webhookSecret: string;
  /** All events so far, the oldest first. */
  events: FakeEvent[];
  /** Paths of all requests, with their methods. */
  requests: string[];
  objects: Map<string, Json>;
  setTax: (percent: number) => void;
  /** The next answer for a path that contains this is on its way until it is released. */
  hold: (path: string) => { reached: Promise<void>; release: () => void };
  /** Answers take up to this long. */
  setDelay: (maxMs: number) => void;
  /** How the next automatic charges end. */
  setCard: (behaviour: 'ok' | 'declined' | 'authentication_required') => void;
  /** The next requests that match go wrong, one for each. */
  fail: (...faults: Fault[]) => void;
  /** Requests that match, such as `POST /v1/invoices`, are refused with this code until it is null. */
  refuse: (request: RegExp, code: string | null) => void;
  /** As in Stripe's dashboard. Its invoices have the discount, unless they are made without one. */
  setDiscount: (customer: string, percent: number) => void;
  deleteCustomer: (customer: string) => void;
  /** An event as endpoints for thin ones get it. */
  thin: (event: FakeEvent) => FakeEvent;
  /** Whether some are still to come. */
  isFailing: () => boolean;
  /** Someone pays on the page of a checkout. Async methods stay unpaid until `settle`. */
  pay: (session: string, method?: 'card' | 'bank') => void;
  /** Someone saves a card on the page of a setup. */
  saveCard: (session: string) => void;
  settle: (session: string, hasSucceeded: boolean) => void;
  expire: (session: string) => void;
  /** As in Stripe's dashboard. Returns the ID. */
  refund: (paymentIntent: string, amount?: number) => string;
  /** Idempotency keys are kept for a day only. */
  forgetKeys: () => void;
  failRefund: (refund: string) => void;
  dispute: (paymentIntent: string, status?: string) => string;
  setDispute: (dispute: string, status: string) => void;
  /** The owner of the card reports the payment as fraud. Returns the ID of the warning. */
  warn: (paymentIntent: string, isActionable?: boolean) => string;
  /** Whether the key may read these warnings. */
  allowWarnings: (isAllowed: boolean) => void;
  intentOf: (session: string) => string;
  /** A checkout of an order that was paid, as if its events had been delivered. Returns the IDs. */
  paidCheckout: (order: string, customer: string, cents: number) => { session: string; intent: string };
  /** Sends an event to a gateway. */
  deliver: (
    origin: string,
    event: FakeEvent,
    changes?: Readonly<{ secret?: string; timestamp?: number; body?: string }>,
  ) => Promise<Response>;
  stop: () => Promise<void>;
}>;

class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly error: Json,
  ) {
    super(String(error.message));
  }
}

const eventsPath = '/api/payments/stripe/events';

export function startFakeStripe(): FakeStripe {
  const objects = new Map<string, Json>();
  const events: FakeEvent[] = [];
  const requests: string[] = [];
  const faults: Fault[] = [];
  const remembered = new Map<string, { request: string; status: number; body: Json }>();
  const webhookSecret = `whsec_${crypto.randomUUID().replaceAll('-', '')}`;
  const prefix = crypto.randomUUID().slice(0, 6);
  let count = 0;
  const holds: { path: string; reached: PromiseWithResolvers<void>; released: PromiseWithResolvers<void> }[] =
    [];
  let taxPercent = 0;
  let maxDelayMs = 0;
  let mayReadWarnings = true;
  let card: 'ok' | 'declined' | 'authentication_required' = 'ok';
  let refused: { request: RegExp; code: string } | null = null;

  const newId = (kind: string) => `${kind}_${prefix}${(++count).toString().padStart(6, '0')}`;
  const now = () => Math.floor(Date.now() / 1000);
  const withTax = (amount: number) => amount + Math.round((amount * taxPercent) / 100);

  function get(id: string): Json {
    const found = objects.get(id);
    if (found === undefined)
      throw new Refusal(404, {
        type: 'invalid_request_error',
        code: 'resource_missing',
        message: `No such object: ${id}`,
      });
    return found;
  }

  /** One that was deleted can still be read, but not be used. */
  function usableCustomer(id: unknown): Json {
    const found = objects.get(String(id));
    if (found === undefined || found.deleted === true)
      throw new Refusal(400, {
        type: 'invalid_request_error',
        code: 'resource_missing',
        param: 'customer',
        message: `No such customer: '${String(id)}'`,
      });
    return found;
  }

  const refusal = (code: string | null, message: string) =>
    new Refusal(400, { type: 'invalid_request_error', ...(code === null ? {} : { code }), message });

  function add(kind: string, fields: Json): Json & { id: string } {
    const id = newId(kind);
    const object = { id, created: now(), livemode: false, metadata: {}, ...fields };
    objects.set(id, object);
    return object;
  }

  /** With a copy of the object as it is now, which will be old when it arrives. */
  function tell(type: string, object: Json): void {
    events.push({
      id: newId('evt'),
      object: 'event',
      type,
      created: now(),
      livemode: false,
      api_version: '2019-01-01',
      data: { object: structuredClone(object) },
    });
  }

  function makeIntent(fields: Json): Json & { id: string } {
    return add('pi', {
      object: 'payment_intent',
      currency: 'usd',
      status: 'requires_payment_method',
      amount_received: 0,
      last_payment_error: null,
      latest_charge: null,
      payment_method: null,
      setup_future_usage: null,
      ...fields,
    });
  }

  function succeed(intent: Json): void {
    const charge = add('ch', {
      object: 'charge',
      payment_intent: intent.id,
      amount: intent.amount,
      amount_refunded: 0,
      receipt_url: `https://stripe.example/receipts/${String(intent.id)}`,
    });
    Object.assign(intent, { status: 'succeeded', amount_received: intent.amount, latest_charge: charge.id });
    tell('payment_intent.succeeded', intent);
  }

  function makeCard(customer: unknown): string {
    return add('pm', {
      object: 'payment_method',
      type: 'card',
      customer,
      card: { brand: 'visa', last4: '4242', exp_month: 7, exp_year: 2031 },
      billing_details: { address: { country: 'DE', postal_code: '10115', line2: null } },
    }).id;
  }

  function pay(id: string, method: 'card' | 'bank' = 'card'): void {
    const session = get(id);
    if (session.status !== 'open') throw new Error(`The session is ${String(session.status)}.`);
    const data = session.payment_intent_data as Json;
    const intent = makeIntent({
      amount: session.amount_total,
      customer: session.customer,
      metadata: data.metadata ?? {},
      setup_future_usage: data.setup_future_usage ?? null,
      payment_method: makeCard(session.customer),
    });
    Object.assign(session, { status: 'complete', payment_intent: intent.id });
    if (method === 'card') finish(session, intent);
    else {
      intent.status = 'processing';
      tell('checkout.session.completed', session);
    }
  }

  function finish(session: Json, intent: Json): void {
    succeed(intent);
    session.payment_status = 'paid';
    const invoice = add('in', {
      object: 'invoice',
      status: 'paid',
      hosted_invoice_url: `https://stripe.example/invoices/${String(session.id)}`,
    });
    session.invoice = invoice.id;
  }

  function refund(paymentIntent: string, amount?: number, metadata: Json = {}): string {
    const intent = get(paymentIntent);
    const charge = get(String(intent.latest_charge));
    const left = Number(charge.amount) - Number(charge.amount_refunded);
    if (left === 0)
      throw new Refusal(400, {
        type: 'invalid_request_error',
        code: 'charge_already_refunded',
        message: 'Charge has already been refunded.',
      });
    const wanted = amount ?? left;
    if (wanted > left)
      throw new Refusal(400, {
        type: 'invalid_request_error',
        message: `Refund amount ($${wanted / 100}) is greater than unrefunded amount on charge ($${left / 100})`,
      });
    charge.amount_refunded = Number(charge.amount_refunded) + wanted;
    const made = add('re', {
      object: 'refund',
      amount: wanted,
      status: 'succeeded',
      payment_intent: paymentIntent,
      charge: charge.id,
      metadata,
    });
    tell('refund.created', made);
    tell('charge.refunded', charge);
    return made.id;
  }

  const listOf = (data: readonly Json[]) => ({ object: 'list', data, has_more: false, url: '/' });

  /** The newest first, page by page. */
  function listEvents({ types, created, limit = '10', starting_after: after }: Json): Json {
    const wanted = types === undefined ? null : new Set(Object.values(types as Json));
    const since = Number((created as Json | undefined)?.gte ?? 0);
    const found = events
      .toReversed()
      .filter((event) => (wanted?.has(event.type) ?? true) && Number(event.created) >= since);
    const start = after === undefined ? 0 : found.findIndex(({ id }) => id === after) + 1;
    const data = found.slice(start, start + Number(limit));
    return { object: 'list', data, has_more: found.length > start + data.length, url: '/v1/events' };
  }

  function createInvoice(body: Json): Json {
    const customer = usableCustomer(body.customer);
    const { percent_off: percent = 0 } = (customer.discount ?? {}) as { percent_off?: number };
    return add('in', {
      object: 'invoice',
      status: 'draft',
      currency: body.currency,
      customer: body.customer,
      collection_method: body.collection_method,
      metadata: body.metadata,
      subtotal: 0,
      total: 0,
      percent_off: body.discounts === undefined ? percent : 0,
      total_discount_amounts: [],
      lines: { object: 'list', data: [], has_more: false },
    });
  }

  /** Drafts can be deleted, and only what was finalised can be void. */
  function endInvoice(id: string, as: 'deleted' | 'void'): Json {
    const invoice = get(id);
    if (invoice.status !== (as === 'void' ? 'open' : 'draft'))
      throw refusal(null, `You can't do that with a ${String(invoice.status)} invoice.`);
    if (as === 'void') invoice.status = 'void';
    else objects.delete(id);
    return as === 'void' ? invoice : { id, object: 'invoice', deleted: true };
  }
  const ofKind = (kind: string) =>
    [...objects.values()].filter(({ id }) => String(id).startsWith(`${kind}_`));

  /** Other objects in place of their IDs, as asked. */
  function expanded(object: Json, paths: readonly string[]): Json {
    const copy: Json = structuredClone(object);
    for (const path of paths) {
      const [head = '', ...rest] = path.split('.');
      const value = copy[head];
      if (typeof value === 'object' && value !== null) copy[head] = expanded(value as Json, [rest.join('.')]);
      const found = typeof value === 'string' ? objects.get(value) : undefined;
      const inner = paths
        .filter((one) => one.startsWith(`${head}.`))
        .map((one) => one.slice(head.length + 1));
      if (found !== undefined) copy[head] = expanded(found, rest.length > 0 || inner.length > 0 ? inner : []);
    }
    return copy;
  }

  function createSetup(body: Json): Json {
    return add('cs_test', {
      object: 'checkout.session',
      mode: 'setup',
      status: 'open',
      customer: body.customer,
      setup_intent: null,
      success_url: body.success_url,
      url: `https://stripe.example/save/${count}`,
    });
  }

  function createSession(body: Json): Json {
    usableCustomer(body.customer);
    if (body.mode === 'setup') return createSetup(body);
    const [item = {}] = Object.values(body.line_items as Json) as Json[];
    const price = item.price_data as Json;
    const amount = Number(price.unit_amount);
    return add('cs_test', {
      object: 'checkout.session',
      mode: body.mode,
      status: 'open',
      payment_status: 'unpaid',
      client_reference_id: body.client_reference_id,
      customer: body.customer,
      currency: price.currency,
      amount_subtotal: amount,
      amount_total: withTax(amount),
      total_details: { amount_discount: 0, amount_tax: withTax(amount) - amount },
      metadata: body.metadata,
      payment_intent: null,
      invoice: null,
      payment_intent_data: body.payment_intent_data,
      success_url: body.success_url,
      url: `https://stripe.example/pay/${count}`,
    });
  }

  function payInvoice(id: string, body: Json): Json {
    const invoice = get(id);
    if (invoice.status !== 'open')
      throw new Refusal(400, { type: 'invalid_request_error', message: 'Invoice is not open.' });
    const method = get(String(body.payment_method));
    if (method.customer !== invoice.customer)
      throw new Refusal(400, {
        type: 'invalid_request_error',
        code: 'resource_missing',
        message: 'Not attached.',
      });
    const intent = makeIntent({
      amount: invoice.total,
      customer: invoice.customer,
      payment_method: method.id,
    });
    const payment = add('inpay', {
      object: 'invoice_payment',
      invoice: id,
      status: 'open',
      payment: { type: 'payment_intent', payment_intent: intent.id },
    });
    if (card !== 'ok') {
      const error = {
        type: 'card_error',
        code: card === 'declined' ? 'card_declined' : 'authentication_required',
        ...(card === 'declined' ? { decline_code: 'insufficient_funds' } : {}),
        message: 'Your card was declined.',
      };
      intent.last_payment_error = error;
      tell('payment_intent.payment_failed', intent);
      tell('invoice.payment_failed', invoice);
      throw new Refusal(402, error);
    }
    succeed(intent);
    payment.status = 'paid';
    Object.assign(invoice, { status: 'paid', amount_paid: invoice.total });
    tell('invoice.paid', invoice);
    return invoice;
  }

  function finalize(id: string): Json {
    const invoice = get(id);
    if (invoice.status !== 'draft') throw refusal(null, 'This invoice is already finalized.');
    const subtotal = Number(invoice.subtotal);
    const discount = Math.round((subtotal * Number(invoice.percent_off)) / 100);
    Object.assign(invoice, {
      status: 'open',
      total: withTax(subtotal - discount),
      total_discount_amounts: discount === 0 ? [] : [{ amount: discount }],
      hosted_invoice_url: `https://stripe.example/invoices/${id}`,
    });
    return invoice;
  }

  function addLine(body: Json): Json {
    const invoice = get(String(body.invoice));
    const lines = invoice.lines as { data: Json[] };
    lines.data.push({ amount: Number(body.amount) });
    invoice.subtotal = Number(invoice.subtotal) + Number(body.amount);
    return add('ii', { object: 'invoiceitem', amount: Number(body.amount) });
  }

  function route(method: string, path: string, body: Json): Json {
    const [, , first = '', second = '', third = '', fourth = ''] = path.split('/');
    const expand = Object.values((body.expand ?? {}) as Json).map(String);
    const one = (id: string) => expanded(get(id), expand);
    switch (
      `${method} ${[first, ...(first === 'checkout' || first === 'billing_portal' ? [second] : [])].join('/')}`
    ) {
      case 'POST customers':
        return second === ''
          ? add('cus', {
              object: 'customer',
              metadata: body.metadata,
              discount: null,
              invoice_settings: { default_payment_method: null },
            })
          : Object.assign(get(second), body);
      case 'GET customers':
        return one(second);
      case 'POST checkout/sessions':
        return createSession(body);
      case 'GET checkout/sessions':
        return third === '' ? listOf(ofKind('cs')) : one(third);
      case 'POST billing_portal/sessions':
        usableCustomer(body.customer);
        return add('bps', { object: 'billing_portal.session', url: 'https://stripe.example/portal' });
      case 'GET payment_intents':
        return second === '' ? listOf(ofKind('pi')) : one(second);
      case 'GET payment_methods':
        return one(second);
      case 'POST payment_methods': {
        const method_ = get(second);
        method_.customer = null;
        tell('payment_method.detached', method_);
        return method_;
      }
      case 'GET refunds':
        return listOf(ofKind('re').filter(({ payment_intent: of }) => of === body.payment_intent));
      case 'POST refunds':
        return get(
          refund(
            String(body.payment_intent),
            body.amount === undefined ? undefined : Number(body.amount),
            body.metadata as Json,
          ),
        );
      case 'GET disputes':
        return listOf(ofKind('du').filter(({ payment_intent: of }) => of === body.payment_intent));
      case 'GET radar':
        if (!mayReadWarnings)
          throw new Refusal(403, {
            type: 'invalid_request_error',
            message: 'The provided key does not have the required permissions.',
          });
        return listOf(ofKind('issfr').filter(({ payment_intent: of }) => of === body.payment_intent));
      case 'GET invoice_payments':
        return listOf(ofKind('inpay').filter(({ invoice }) => invoice === body.invoice));
      case 'POST invoiceitems':
        return addLine(body);
      case 'GET invoices':
        return second === ''
          ? listOf(ofKind('in').filter((it) => it.customer === body.customer))
          : one(second);
      case 'POST invoices':
        if (second === '') return createInvoice(body);
        if (third === 'finalize') return finalize(second);
        if (third === 'pay') return payInvoice(second, body);
        return endInvoice(second, 'void');
      case 'DELETE invoices':
        return endInvoice(second, 'deleted');
      case 'GET events':
        return listEvents(body);
      default:
        throw new Refusal(404, {
          type: 'invalid_request_error',
          message: `Unrecognized request: ${path}${fourth}`,
        });
    }
  }

  /** Errors are remembered with the key, too, except of requests that were never begun. */
  function answer(
    method: string,
    path: string,
    text: string,
    key: string | null,
  ): { status: number; body: Json } {
    const known = key === null ? undefined : remembered.get(key);
    if (known !== undefined) {
      if (known.request === `${path}?${text}`) return known;
      return { status: 400, body: { error: { type: 'idempotency_error', message: 'Keys differ.' } } };
    }
    let result: { status: number; body: Json };
    try {
      if (refused?.request.test(`${method} ${path}`)) throw refusal(refused.code, 'Not possible.');
      result = { status: 200, body: structuredClone(route(method, path, formOf(text))) };
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown;
      result = { status: thrown.status, body: { error: thrown.error } };
    }
    if (key !== null) remembered.set(key, { ...result, request: `${path}?${text}` });
    return result;
  }

  function takeFault(request: string): Fault | undefined {
    const index = faults.findIndex(({ path }) => request.includes(path));
    return index < 0 ? undefined : faults.splice(index, 1)[0];
  }

  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url);
      const text = request.method === 'GET' ? search.slice(1) : await request.text();
      requests.push(`${request.method} ${pathname}`);
      if (request.headers.get('authorization') !== `Bearer ${secretKey}`)
        return Response.json(
          { error: { type: 'authentication_error', message: 'Invalid API key' } },
          { status: 401 },
        );
      const fault = takeFault(`${request.method} ${pathname}`);
      const failure = () =>
        Response.json({ error: { type: 'api_error', message: 'Something is wrong' } }, { status: 500 });
      if (fault?.when === 'before') return failure();
      const { status, body } = answer(request.method, pathname, text, request.headers.get('idempotency-key'));
      // What is on its way may be old when it arrives.
      const index = holds.findIndex((one) => pathname.includes(one.path));
      const [held] = index < 0 ? [] : holds.splice(index, 1);
      held?.reached.resolve();
      await held?.released.promise;
      if (maxDelayMs > 0) await Bun.sleep(Math.random() * maxDelayMs);
      if (fault?.when === 'after') return failure();
      return Response.json(body, { status });
    },
  });
  const secretKey = 'sk_test_fakeStripeKey1234';

  return {
    url: `http://127.0.0.1:${server.port}`,
    secretKey,
    webhookSecret,
    events,
    requests,
    objects,
    setTax: (percent) => {
      taxPercent = percent;
    },
    hold: (path) => {
      const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      holds.push({ path, reached, released });
      return { reached: reached.promise, release: () => released.resolve() };
    },
    setDelay: (maxMs) => {
      maxDelayMs = maxMs;
    },
    setCard: (behaviour) => {
      card = behaviour;
    },
    fail: (...more) => {
      faults.push(...more);
    },
    refuse: (request, code) => {
      refused = code === null ? null : { request, code };
    },
    setDiscount: (customer, percent) => {
      get(customer).discount = { percent_off: percent };
    },
    deleteCustomer: (customer) => {
      objects.set(customer, { id: customer, object: 'customer', deleted: true });
    },
    thin: ({ id, type, livemode, data }) => {
      const { id: about, object } = (data as { object: Json }).object;
      return {
        id: `${id}_thin`,
        object: 'v2.core.event',
        type: `v1.${type}`,
        livemode,
        created: new Date().toISOString(),
        related_object: { id: about, type: object, url: `/v1/objects/${String(about)}` },
        snapshot_event: id,
      };
    },
    isFailing: () => faults.length > 0,
    pay: (id, method) => {
      pay(id, method);
      if (method !== 'bank') tell('checkout.session.completed', get(id));
    },
    saveCard: (id) => {
      const session = get(id);
      const intent = add('seti', { object: 'setup_intent', payment_method: makeCard(session.customer) });
      Object.assign(session, { status: 'complete', setup_intent: intent.id });
      tell('checkout.session.completed', session);
    },
    settle: (id, hasSucceeded) => {
      const session = get(id);
      const intent = get(String(session.payment_intent));
      if (hasSucceeded) finish(session, intent);
      else intent.status = 'requires_payment_method';
      tell(`checkout.session.async_payment_${hasSucceeded ? 'succeeded' : 'failed'}`, session);
    },
    expire: (id) => {
      const session = get(id);
      session.status = 'expired';
      tell('checkout.session.expired', session);
    },
    refund: (paymentIntent, amount) => refund(paymentIntent, amount),
    forgetKeys: () => remembered.clear(),
    failRefund: (id) => {
      const failed = get(id);
      const charge = get(String(failed.charge));
      failed.status = 'failed';
      charge.amount_refunded = Number(charge.amount_refunded) - Number(failed.amount);
      tell('refund.failed', failed);
    },
    dispute: (paymentIntent, status = 'needs_response') => {
      const intent = get(paymentIntent);
      const made = add('du', {
        object: 'dispute',
        amount: intent.amount,
        status,
        payment_intent: paymentIntent,
        charge: intent.latest_charge,
      });
      tell('charge.dispute.created', made);
      return made.id;
    },
    setDispute: (id, status) => {
      const dispute = get(id);
      dispute.status = status;
      tell(
        status === 'won' || status === 'lost' ? 'charge.dispute.closed' : 'charge.dispute.updated',
        dispute,
      );
    },
    warn: (paymentIntent, isActionable = true) => {
      const made = add('issfr', {
        object: 'radar.early_fraud_warning',
        actionable: isActionable,
        fraud_type: 'made_with_stolen_card',
        payment_intent: paymentIntent,
        charge: get(paymentIntent).latest_charge,
      });
      tell('radar.early_fraud_warning.created', made);
      return made.id;
    },
    allowWarnings: (isAllowed) => {
      mayReadWarnings = isAllowed;
    },
    intentOf: (id) => String(get(id).payment_intent),
    paidCheckout: (order, customer, cents) => {
      if (!objects.has(customer)) objects.set(customer, { id: customer, object: 'customer' });
      const session = createSession({
        mode: 'payment',
        line_items: [{ price_data: { unit_amount: cents, currency: 'usd' } }],
        client_reference_id: order,
        customer,
        payment_intent_data: { metadata: { order } },
      });
      const id = String(session.id);
      pay(id);
      return { session: id, intent: String(get(id).payment_intent) };
    },
    deliver: async (origin, event, changes = {}) => {
      const payload = changes.body ?? JSON.stringify(event);
      const header = await new Stripe(secretKey).webhooks.generateTestHeaderStringAsync({
        payload: JSON.stringify(event),
        secret: changes.secret ?? webhookSecret,
        ...(changes.timestamp === undefined ? {} : { timestamp: changes.timestamp }),
      });
      return await fetch(`${origin}${eventsPath}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': header },
        body: payload,
      });
    },
    stop: () => server.stop(true),
  };
}

/** `a[b][0]=c` is an object in an object. */
function formOf(text: string): Json {
  const form: Json = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const path = name.split(/\]\[|\[|\]/).filter((part, index, all) => part !== '' || index < all.length - 1);
    let place = form;
    for (const part of path.slice(0, -1)) {
      place[part] ??= {};
      place = place[part] as Json;
    }
    place[path.at(-1) ?? ''] = value;
  }
  return form;
}
