import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readConfig } from '../../src/config.ts';
import { securityTxt } from '../../src/operations/security-txt.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';

const path = '/.well-known/security.txt';
let database: TestDatabase;
let gateways: Gateway[];

beforeAll(async () => {
  database = await createDatabase();
  const environment = { DATABASE_URL: database.url };
  const contact = {
    SECURITY_CONTACT: 'mailto:security@example.com',
    PUBLIC_URL: 'https://gateway.example.com',
  };
  gateways = await Promise.all([startGateway({ ...environment, ...contact }), startGateway(environment)]);
});

afterAll(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  await database.close();
});

test('is published with SECURITY_CONTACT, and not found without', async () => {
  const [open, closed] = await Promise.all(gateways.map(({ origin }) => fetch(`${origin}${path}`)));
  expect(open?.status).toBe(200);
  expect(open?.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  const lines = (await open?.text())?.split('\n') ?? [];
  expect(lines).toEqual([
    'Contact: mailto:security@example.com',
    expect.stringMatching(/^Expires: \d{4}-\d\d-\d\dT00:00:00Z$/),
    `Canonical: https://gateway.example.com${path}`,
    '',
  ]);
  expect(closed?.status).toBe(404);
});

test('expires within a year, and has its own address only if that is known', () => {
  expect(securityTxt('https://example.com/report', null, new Date('2026-11-15T12:34:56Z'))).toBe(
    'Contact: https://example.com/report\nExpires: 2027-05-14T00:00:00Z\n',
  );
});

test.each([
  'security@example.com',
  'http://example.com',
  'mailto:nobody',
  'https://a:b@example.com',
  'mailto:a@example.com\nContact: x',
  'https://example.com/a b',
  'x',
])('SECURITY_CONTACT=%j is refused at the start', (text) => {
  expect(() => readConfig({ SECURITY_CONTACT: text })).toThrow(
    'SECURITY_CONTACT must be an address such as mailto:',
  );
});
