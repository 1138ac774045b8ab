/** The arithmetic of docs/scale.md. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { limitsOf, readScaleInput, renderScale, type ScaleInput, scaleTables } from '../../bench/scale.ts';

const page = readFileSync(join(import.meta.dir, '../../docs/scale.md'), 'utf8');

/** Round figures, so that the results can be computed by head. */
const input: ScaleInput = {
  requestCpu: 100,
  postgresCpu: 50,
  chunkCpu: 10,
  streamKb: 1024,
  idleMb: 1024,
  accountRate: 5_000,
  walBytes: 1_000,
  storedBytes: 1_000,
  usedPercent: 50,
  streamSeconds: 10,
  storedDays: 10,
  connections: 10,
  primaryCores: 10,
  primaryTb: 86.4,
  primaryWalMb: 40,
  replicaWalMb: 20,
  maxConnections: 1_000_000,
};

const cells = (table: string, title: string) =>
  table
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .find(([, first]) => first === title)
    ?.slice(2, -1);

test('the tables of the page follow from its figures', () => {
  expect(renderScale(page)).toBe(page);
});

test('a changed figure changes them, and a missing one is reported', () => {
  const figure = /^\| PostgreSQL CPU per request, µs \| [\d.,]+ \|/m;
  const changed = renderScale(page.replace(figure, '| PostgreSQL CPU per request, µs | 1,234.5 |'));
  expect(readScaleInput(changed).postgresCpu).toBe(1_234.5);
  expect(changed).toContain('1,000,000 µs ÷ 1234.5');
  expect(() => renderScale(page.replace(figure, '| PostgreSQL CPU | 1 |'))).toThrow(
    'PostgreSQL CPU per request',
  );
  expect(() => renderScale(page.replace('<!-- limits -->', ''))).toThrow('no place for the table "limits"');
});

test('a core is divided by what a request costs', () => {
  const { cores } = scaleTables(input);
  expect(cores).toContain('5,000 JSON requests');
  expect(cores).toContain('481 streams');
  expect(cores).toContain('10,000 requests');
});

test('a deployment has what its load needs, in whole processes and primaries', () => {
  const { deployments } = scaleTables(input);
  expect(cells(deployments, 'gateway processes, if all are JSON')).toEqual(['1', '2', '20']);
  expect(cells(deployments, 'gateway processes, if all are streams')).toEqual(['3', '21', '208']);
  expect(cells(deployments, 'memory of these gateways, GB')?.[0]).toBe('12.8');
  expect(cells(deployments, 'PostgreSQL cores')).toEqual(['1', '1', '10']);
  expect(cells(deployments, 'WAL, MB/s')).toEqual(['1.00', '10.0', '100']);
  expect(cells(deployments, 'stored per day, GB')?.[0]).toBe('86.4');
  expect(cells(deployments, 'stored in 10 days, TB')).toEqual(['0.86', '8.64', '86.4']);
  expect(cells(deployments, 'database connections, if all are streams')).toEqual(['30', '210', '2,080']);
  expect(cells(deployments, 'accounts, at least')).toEqual(['1', '2', '20']);
  expect(cells(deployments, 'primaries')).toEqual(['1', '1', '5']);
});

test('the scarcest resource comes first', () => {
  expect(limitsOf(input).map(({ resource, perSecond }) => [resource, Math.round(perSecond)])).toEqual([
    ['WAL replayed by a replica', 20_000],
    ['WAL written by the primary', 40_000],
    ['CPU of the primary', 100_000],
    ['storage for 10 days', 100_000],
    ['connections, if all requests are streams', 48_076_923],
  ]);
});
