/** What must be true of an export that broke off and went on: every line is there, once, and no other. */
import type { Exported } from '../trials/exports.ts';
import type { Evidence } from './evidence.ts';
import { checkEach, type Truth } from './truth.ts';

export function judgeExports({ exports, exportable }: Evidence): Truth[] {
  const complete = exports.filter(({ isComplete }) => isComplete);
  return [
    checkEach('every export became complete', exports, (one) =>
      one.isComplete ? null : describeExport(one, `incomplete, asked for ${one.sent} times`),
    ),
    checkEach('no export had a line twice', complete, (one) => {
      const twice = one.cursors.length - new Set(one.cursors).size;
      return twice === 0 ? null : describeExport(one, `${twice} lines twice`);
    }),
    checkEach('every export had all lines of its range, and no others', complete, (one) => {
      const had = new Set(one.cursors);
      const inRange = exportable[one.name].filter(({ atMs }) => atMs >= one.fromMs && atMs < one.toMs);
      const known = new Set(inRange.map(({ cursor }) => cursor));
      // What is committed while it runs may be behind the place that it has reached.
      const missing = inRange.filter(
        ({ cursor, committedAtMs }) => committedAtMs < one.startedAtMs && !had.has(cursor),
      );
      const strange = [...had].filter((cursor) => !known.has(cursor));
      if (missing.length + strange.length === 0) return null;
      const examples = `${missing[0]?.cursor ?? ''} ${strange[0] ?? ''}`;
      return describeExport(one, `${missing.length} missing, ${strange.length} too many: ${examples}`);
    }),
  ];
}

function describeExport({ name, fromMs, toMs, sent, cursors }: Exported, what: string): string {
  const range = `${new Date(fromMs).toISOString()} to ${new Date(toMs).toISOString()}`;
  return `${name} from ${range} with ${cursors.length} lines, asked for ${sent} times: ${what}`;
}
