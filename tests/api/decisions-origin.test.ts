/** Who may run a decision: every combination of where a request comes from, the session and the key that it shows. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { signIn } from '../support/console-fixture.ts';
import {
  asking,
  type DecisionsFixture,
  decisionModel,
  errorIn,
  openDecisionsFixture,
} from '../support/decisions-fixture.ts';
import { type Gateway, startGateway, temporaryFolder } from '../support/gateway.ts';

const publicUrl = 'https://gateway.example.com';

let fixture: DecisionsFixture;
/** A gateway that browsers reach through a proxy, at another address than its own. */
let proxied: Gateway;
const cookies = new Map<string, string>();
const credentials = new Map<string, string>();

beforeAll(async () => {
  fixture = await openDecisionsFixture();
  const { environment, sandbox, cookie: valid, key, gateway } = fixture;
  proxied = await startGateway({
    ...environment,
    TOLLGATE_DATA: temporaryFolder(),
    DECISIONS_BASE_URL: `${sandbox.url}/v1`,
    DECISIONS_API_KEY: 'provider-key-canary',
    DECISIONS_MODEL: decisionModel,
    PUBLIC_URL: publicUrl,
  });
  const [name = '', value = ''] = valid.split('=');
  const tampered = `${name}=${value.slice(0, 12)}${value[12] === 'x' ? 'y' : 'x'}${value.slice(13)}`;
  const expired = await signIn(gateway.origin, 'owner');
  await fixture.database
    .sql`update sessions set expires_at = now() where id = (select id from sessions order by created_at desc limit 1)`;
  const revoked = await signIn(gateway.origin, 'owner');
  await fixture.database
    .sql`delete from sessions where id = (select id from sessions order by created_at desc limit 1)`;
  cookies.set('none', '');
  cookies.set('valid', valid);
  cookies.set('valid among others', `theme=dark; ${valid}; other=1`);
  cookies.set('valid, twice', `${valid}; ${valid}`);
  cookies.set('tampered', tampered);
  cookies.set('tampered, twice', `${tampered}; ${tampered}`);
  cookies.set('without a signature', `${name}=${value.slice(0, 20)}`);
  cookies.set('expired', expired);
  cookies.set('revoked', revoked);
  cookies.set('of another name', valid.replace(name, 'session'));
  cookies.set('of the name for HTTPS', `__Host-${valid}`);
  cookies.set('no cookie at all', ';=;;');
  credentials.set('no key', '');
  credentials.set('an API key', `Bearer ${key}`);
  credentials.set('a key that is none', 'Bearer svc_sk_garbage');
  credentials.set('the session as a key', `Bearer ${value}`);
}, 60_000);

afterAll(async () => {
  await proxied.stop();
  await fixture.close();
});

const good = new Set(['valid', 'valid among others', 'valid, twice']);

/** Origins that a browser may state, made from the address of the gateway. */
const origins: Readonly<Record<string, (own: URL) => string | null>> = {
  own: ({ origin }) => origin,
  absent: () => null,
  'with a slash': ({ origin }) => `${origin}/`,
  'with a path': ({ origin }) => `${origin}/decisions`,
  'of another port': ({ hostname, port }) => `http://${hostname}:${Number(port) + 1}`,
  'without the port': ({ hostname }) => `http://${hostname}`,
  'over HTTPS': ({ host }) => `https://${host}`,
  'by another name': ({ port }) => `http://localhost:${port}`,
  'in upper case': ({ host }) => `HTTP://${host}`,
  'of a subdomain': ({ host }) => `http://app.${host}`,
  'that begins the same': ({ origin }) => `${origin}.evil.example.com`,
  'with a user': ({ host }) => `http://user@${host}`,
  null: () => 'null',
  empty: () => '',
  another: () => 'https://evil.example.com',
  two: ({ origin }) => `${origin}, ${origin}`,
  'the public address': () => publicUrl,
};

async function statusOf(to: Gateway, origin: string | null, cookie: string, authorization: string) {
  const response = await fetch(`${to.origin}/api/decisions/run`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(origin === null ? {} : { origin }),
      ...(cookie === '' ? {} : { cookie }),
      ...(authorization === '' ? {} : { authorization }),
    },
    body: JSON.stringify(asking()),
  });
  if (response.status === 200) return '200';
  const { status, type } = await errorIn(response);
  return `${status} ${type}`;
}

function expected(isOwn: boolean, isSignedIn: boolean): string {
  if (!isOwn) return '403 invalid_origin';
  return isSignedIn ? '200' : '401 authentication_error';
}

describe.each(Object.keys(origins))('an origin %s', (place) => {
  test('with each session and each key', async () => {
    const origin = origins[place]?.(new URL(fixture.deciding.origin)) ?? null;
    const seen: string[] = [];
    const wanted: string[] = [];
    for (const [session, cookie] of cookies) {
      for (const [key, authorization] of credentials) {
        seen.push(`${session}, ${key}: ${await statusOf(fixture.deciding, origin, cookie, authorization)}`);
        wanted.push(`${session}, ${key}: ${expected(place === 'own', good.has(session))}`);
      }
    }
    expect(seen).toHaveLength(48);
    expect(seen).toEqual(wanted);
  });
});

describe('behind a proxy the public address is the gateway’s own', () => {
  test('and its cookie has the name that only HTTPS gets', async () => {
    const response = await fetch(`${proxied.origin}/api/auth/sign-in/email`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: publicUrl },
      body: JSON.stringify({ email: 'owner@example.com', password: 'correct horse battery' }),
    });
    const [secure = ''] = response.headers.getSetCookie().map((line) => line.split(';')[0]);
    expect(secure).toStartWith('__Host-');
    const places: [string, string | null, string][] = [
      ['the public address', publicUrl, '200'],
      ['with a slash', `${publicUrl}/`, '403 invalid_origin'],
      ['with its port', `${publicUrl}:443`, '403 invalid_origin'],
      ['without TLS', publicUrl.replace('https', 'http'), '403 invalid_origin'],
      ['in upper case', 'https://GATEWAY.example.com', '403 invalid_origin'],
      ['of a subdomain', 'https://app.gateway.example.com', '403 invalid_origin'],
      ['of the parent', 'https://example.com', '403 invalid_origin'],
      ['that ends the same', 'https://evilgateway.example.com', '403 invalid_origin'],
      ['the address behind the proxy', proxied.origin, '403 invalid_origin'],
      ['absent', null, '403 invalid_origin'],
    ];
    for (const [place, origin, status] of places)
      expect([place, await statusOf(proxied, origin, secure, '')]).toEqual([place, status]);
    expect(await statusOf(proxied, publicUrl, fixture.cookie, '')).toBe('401 authentication_error');
    expect(await statusOf(proxied, publicUrl, '', credentials.get('an API key') ?? '')).toBe(
      '401 authentication_error',
    );
  });

  test('whatever a header says about the requested host', async () => {
    const response = await fetch(`${proxied.origin}/api/decisions/run`, {
      method: 'POST',
      headers: {
        host: 'evil.example.com',
        'x-forwarded-host': 'evil.example.com',
        'x-forwarded-proto': 'https',
        origin: 'https://evil.example.com',
        'content-type': 'application/json',
      },
      body: '{}',
    });
    expect((await errorIn(response)).type).toBe('invalid_origin');
  });
});
