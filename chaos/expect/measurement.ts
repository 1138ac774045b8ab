/** What a measurement reports, and how it is printed. */
import type { LoadResult } from './load.ts';

export type Form = Readonly<{
  perSecond: number;
  /** How long the load goes on in the measurements that are not rolling restarts. */
  seconds: number;
  /** How often all gateways are restarted behind each balancer, and the length of the streams that are open meanwhile. */
  rounds: number;
  streamSeconds: number;
}>;

export type Row = Readonly<{
  what: string;
  load: LoadResult;
  /** What else was seen, in a few words. */
  seen: string;
  isSound: boolean;
}>;

export type Measurement = Readonly<{
  name: string;
  /** Programs that have to be installed. */
  needs: readonly string[];
  run: (form: Form) => Promise<Row[]>;
}>;

const headings = [
  '',
  'requests',
  'failed',
  'p50 ms',
  'p99 ms',
  'longest without a success, s',
  'ledger',
  'seen',
];

export function formatRows(rows: readonly Row[]): string {
  const cells = rows.map(({ what, load, seen, isSound }) => [
    what,
    load.requests.toLocaleString('en'),
    failed(load),
    load.p50Ms.toFixed(1),
    load.p99Ms.toFixed(1),
    (load.longestGapMs / 1000).toFixed(2),
    isSound ? 'sound' : 'BROKEN',
    seen,
  ]);
  const rule = headings.map((_, column) => (column > 0 && column < 6 ? '---:' : '---'));
  return [headings, rule, ...cells].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

function failed({ failures }: LoadResult): string {
  const total = [...failures.values()].reduce((sum, count) => sum + count, 0);
  if (total === 0) return '0';
  const kinds = [...failures].toSorted(([, a], [, b]) => b - a).map(([kind, count]) => `${count} × ${kind}`);
  return `${total.toLocaleString('en')} (${kinds.join(', ')})`;
}

/** Debian installs daemons outside the users' PATH. */
export function programNamed(name: string): string | null {
  return Bun.which(name) ?? Bun.which(name, { PATH: '/usr/sbin:/usr/local/sbin' });
}
