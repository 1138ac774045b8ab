/** What the box that finds anything lists, and what of it the gateway is asked. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  type Place,
  placesAnywhere,
  placesInAccount,
  questionFor,
  readRecent,
  requestIdIn,
  timesIn,
  withoutRepeats,
  withRecent,
} from '../../dashboard/find/places.ts';

const id = '01890a5dac96774bbcceb302099a8057';

test.each([
  [`req_${id}`, `req_${id}`],
  [`  REQ_${id.toUpperCase()} `, `req_${id}`],
  [`402 insufficient_balance (request req_${id}), retry later`, `req_${id}`],
  ['01890a5d-ac96-774b-bcce-b302099a8057', `req_${id}`],
  [`req_${id}0`, null],
  [`req_${id.slice(1)}`, null],
  ['person-1', null],
  ['', null],
])('%j names the request %p', (text, expected) => {
  expect(requestIdIn(text)).toBe(expected);
});

test('of a whole key only its end is asked for', () => {
  const secret = fc.stringMatching(/^[A-Za-z0-9]{8,60}$/);
  const around = [
    [' ', ' '],
    ['Authorization: Bearer ', ''],
    ['"', '",'],
    ['API_KEY=', '\n'],
  ];
  fc.assert(
    fc.property(fc.constantFrom('svc_sk_', 'sk-', 'tg_admin_'), secret, (start, rest) => {
      for (const [before, after] of around)
        expect(questionFor(`${before}${start}${rest}${after}`)).toBe(`…${rest.slice(-4)}`);
    }),
  );
  expect(questionFor('svc_sk_')).toBe('svc_sk_');
  expect(questionFor('helpdesk-automation')).toBe('helpdesk-automation');
  expect(questionFor(' x '.repeat(500)).length).toBeLessThanOrEqual(200);
});

test('names lead to their places, whatever they are made of', () => {
  const [place] = placesInAccount({ keys: [], models: [], end_users: ['a&b=c #1'], sessions: [] });
  expect(place?.href).toBe('/requests?end_user=a%26b%3Dc+%231&range=30d');
});

test('an end user of several accounts leads to the requests of each, and of all', () => {
  const found = ['Blue', 'Red'].map((name) => ({ label: 'ann', account: { id: name, name } }));
  const nothing = { accounts: [], people: [], providers: [], models: [], keys: [], sessions: [] };
  const hrefs = (end_users: typeof found) =>
    placesAnywhere({ ...nothing, end_users }).map(({ label, href }) => [label, href]);
  const all = '/operator/requests?end_user=ann&range=30d';
  expect(hrefs(found)).toEqual([
    ['ann · Blue', `${all}&account=Blue`],
    ['ann · Red', `${all}&account=Red`],
    ['ann · all accounts', all],
  ]);
  expect(hrefs(found.slice(0, 1))).toEqual([['ann · Blue', `${all}&account=Blue`]]);
});

const place = (name: string): Place => ({ group: 'Keys', label: name, detail: '', href: `/${name}` });

test('the last places are kept, each once, and nothing that was not stored here', () => {
  const places = fc.array(fc.constantFrom(...'abcdefghijklm').map(place), { maxLength: 40 });
  fc.assert(
    fc.property(places, (visits) => {
      const recent = visits.reduce<Place[]>(withRecent, []);
      expect(recent.length).toBeLessThanOrEqual(8);
      expect(recent[0]).toEqual(visits.at(-1));
      expect(withoutRepeats(recent)).toEqual(recent);
      expect(readRecent(JSON.stringify(recent))).toEqual(recent);
    }),
  );
  for (const text of [
    null,
    '',
    '{',
    '7',
    '[1, null, {}]',
    '[{"group":"","label":"","detail":"","href":"//evil"}]',
  ])
    expect(readRecent(text)).toEqual([]);
});

test('requests of an end user are those of the range that is being looked at', () => {
  const found = { keys: [], models: [], end_users: ['ann'], sessions: [] };
  const hrefOf = (search: Record<string, string>) => placesInAccount(found, timesIn(search))[0]?.href;
  expect(hrefOf({ range: '7d' })).toBe('/requests?end_user=ann&range=7d');
  const [from, to] = ['2026-11-17T13:00:00.000Z', '2026-11-17T14:00:00.000Z'];
  expect(timesIn({ from, to })).toEqual({ from, to });
  // Ranges of whole days, and those of other pages.
  for (const other of [{}, { range: 'custom', from: '2026-11-01', to: '2026-11-17' }, { range: 'month' }])
    expect(hrefOf(other)).toBe('/requests?end_user=ann&range=30d');
});
