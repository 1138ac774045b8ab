import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { mayBeBilled } from '../../src/inference/uncharged.ts';
import { MachineShortage } from '../../src/providers/machine-shortage.ts';
import { EndedByGateway, EndedByShutdown, ProviderError } from '../../src/providers/upstream.ts';

const unreached = new ProviderError('provider_unavailable', { isUnreached: true });

test.each([
  ['a provider that could not be reached', unreached, false],
  ['a machine without descriptors', new MachineShortage('EMFILE'), false],
  ['silence after the call was sent', new ProviderError('provider_timeout'), true],
  ['a connection that broke before any status', new ProviderError('provider_unavailable'), true],
  ['a call that the gateway gave up', new EndedByGateway('provider_timeout', null), true],
  ['a call that ended with the gateway', new EndedByShutdown(true, 200), true],
  [
    'an answer that cannot be read',
    new ProviderError('provider_unknown_error', { upstreamStatus: 200 }),
    true,
  ],
  ['a redirect', new ProviderError('provider_unknown_error', { upstreamStatus: 302 }), false],
  ['a rejected request', new ProviderError('provider_bad_request', { upstreamStatus: 400 }), false],
  [
    'a rate limit',
    new ProviderError('provider_rate_limit', { upstreamStatus: 429, retryAfterSeconds: 1 }),
    false,
  ],
  ['a failure before an answer', new ProviderError('provider_unavailable', { upstreamStatus: 503 }), false],
])('%s', (_name, failure, isBilled) => {
  expect(mayBeBilled(failure)).toBe(isBilled);
});

test('once there is a status, it alone decides', () => {
  fc.assert(
    fc.property(fc.integer({ min: 100, max: 599 }), fc.boolean(), (status, isProvoked) => {
      const failure = new ProviderError('provider_unknown_error', { upstreamStatus: status, isProvoked });
      expect(mayBeBilled(failure)).toBe(status < 300);
    }),
  );
});
