/** What a hostile run found, in words and figures. */
import { formatTruth, isTrue, ranked } from '../judge/report.ts';
import { describeGap, maxStallMs, megabytes, workedMs } from './judge-gateway.ts';
import type { Gap } from './loop-watch.ts';
import type { HostileResult } from './run.ts';

export function formatHostileReport(result: HostileResult): string {
  const { options, seconds, sent, answered, truths, memory, gaps, logged, idempotency } = result;
  const beyond = (ms: number) => `${gaps.filter((gap) => workedMs(gap) > ms).length}`;
  const longest = gaps.toSorted((a, b) => workedMs(b) - workedMs(a))[0];
  const idle = gaps.toSorted((a, b) => b.gapMs - workedMs(b) - (a.gapMs - workedMs(a)))[0];
  const describe = (gap: Gap | undefined) => (gap === undefined ? 'below 20 ms' : describeGap(gap));
  return [
    `${options.requests} malformed and hostile requests on ${options.connections} connections in ${seconds.toFixed(0)} s (${Math.round(options.requests / seconds)} per second), seed ${options.seed}.`,
    '',
    'What was sent',
    ...ranked(sent),
    '',
    'What came back: the status, or how the connection ended without one',
    ...ranked(answered),
    '',
    `Memory: ${megabytes(memory.afterWarmUp)} at rest after the first tenth, ${megabytes(memory.atEnd)} at the end, ${megabytes(memory.most)} at most.`,
    `Event loop blocked by work: more than 20 ms ${beyond(20)} times, more than 50 ms ${beyond(50)}, more than ${maxStallMs} ms ${beyond(maxStallMs)}.`,
    `Longest gap caused by work: ${describe(longest)}. By anything else: ${describe(idle)}.`,
    `Stored for idempotent requests: ${idempotency.rows} rows, ${megabytes(idempotency.bytes)}.`,
    'What the gateway logged as errors',
    ...(logged.size === 0 ? ['  nothing'] : ranked(logged)),
    '',
    'Truths',
    ...truths.flatMap(formatTruth),
    '',
    truths.every(isTrue) ? 'All truths hold.' : 'NOT ALL TRUTHS HOLD.',
  ].join('\n');
}
