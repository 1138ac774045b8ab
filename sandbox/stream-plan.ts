/** Turns the events of a stream into writes, with the faults of a scenario. */

import type { Position } from './directive-values.ts';
import type { ChatFormat, StreamOutline } from './format.ts';
import { gzipWrites } from './gzip.ts';
import type { Scenario } from './scenario.ts';
import { cutBytes, joined, padText, type Transfer, type Writes } from './transfer.ts';
import type { ReportedUsage } from './usage.ts';

/** The events to send, and what comes after them. */
type Script = Readonly<{
  events: readonly string[];
  ending: Transfer['ending'];
  isComplete: boolean;
  /** The event that reports the usage; null if none does. */
  usageIndex: number | null;
}>;

/** Stands for a byte that never occurs in UTF-8. */
const notUtf8 = '\ue000';

/** Events that nobody can read. */
const malformedEvents = { json: '{broken', 'utf-8': `{"broken":"${notUtf8}"}`, list: '["broken"]' } as const;

/** The rest of such an event is ASCII. */
function spoilBytes(frame: string): Uint8Array {
  return Buffer.from(frame.replace(notUtf8, '\xff'), 'latin1');
}

export function planStream(
  format: ChatFormat,
  outline: StreamOutline,
  usage: ReportedUsage | null,
  scenario: Scenario,
  number: number,
): Transfer {
  const { events, ending, isComplete, usageIndex } = scriptOf(format, outline, scenario, number);
  const texts = events.map(scenario.crlf ? (event) => unusual(format.frame(event)) : format.frame);
  const isSpoilt = scenario.malformed?.fault === 'utf-8';
  const frames = isSpoilt ? texts.map((text) => (text.includes(notUtf8) ? spoilBytes(text) : text)) : texts;
  const { writes, shift } = writesOf(frames, scenario);
  const reported = usage !== null && usageIndex !== null ? usage : null;
  return {
    writes: scenario.gzip ? gzipWrites(writes, ending === 'end') : writes,
    delayMs: scenario['chunk-delay'] ?? 0,
    ending,
    isComplete,
    // If events are not separate writes, the usage counts as reported from the first byte on.
    usage: reported && { reported, writeIndex: shift === null ? 0 : (usageIndex ?? 0) + shift },
  };
}

function scriptOf(format: ChatFormat, outline: StreamOutline, scenario: Scenario, number: number): Script {
  const { payloads, end } = outline;
  const upTo = (position: Position): number => {
    if (position === 'usage') return payloads.length;
    return position === 'finish' ? outline.upToFinish : outline.upToContent(position);
  };
  const usageIndex = payloads.length - 1;
  const broken = (position: Position, ending: Transfer['ending'], more: readonly string[] = []): Script => {
    const count = upTo(position);
    const isUsageReported = count === payloads.length;
    const events = [...payloads.slice(0, count), ...more];
    return { events, ending, isComplete: false, usageIndex: isUsageReported ? usageIndex : null };
  };

  if (scenario.empty) return { events: [], ending: 'end', isComplete: false, usageIndex: null };
  if (scenario.cut !== undefined) return broken(scenario.cut, 'reset');
  if (scenario.stall !== undefined) return broken(scenario.stall, 'stall');
  if (scenario.end !== undefined) return broken(scenario.end, 'end');
  if (scenario['error-event'] !== undefined) {
    const failure = { status: 500, message: 'The server had an error.' };
    const error = format.errorEvent?.(failure) ?? format.errorBody(failure, number);
    const { endAfterError } = format;
    return broken(scenario['error-event'], 'end', endAfterError === null ? [error] : [error, endAfterError]);
  }

  const isComplete = !scenario['no-done'] || end === null;
  const events = isComplete && end !== null ? [...payloads, end] : [...payloads];
  if (scenario.malformed === undefined) return { events, ending: 'end', isComplete, usageIndex };
  const count = upTo(scenario.malformed.position);
  events.splice(count, 0, malformedEvents[scenario.malformed.fault]);
  return { events, ending: 'end', isComplete, usageIndex: count > usageIndex ? usageIndex : usageIndex + 1 };
}

/** One write per event, one for all, or split by bytes. `shift` is a write's offset from its event, if each has one. */
function writesOf(
  frames: Writes,
  { huge, burst, bytes }: Scenario,
): Readonly<{ writes: Writes; shift: number | null }> {
  const [first] = frames;
  if (huge !== undefined && typeof first === 'string') {
    const padded = padText(first, huge);
    return { writes: [...padded, ...frames.slice(1)], shift: padded.length - 1 };
  }
  if (burst) return { writes: [joined(frames)], shift: null };
  if (bytes !== undefined) return { writes: cutBytes(joined(frames), bytes), shift: null };
  return { writes: frames, shift: 0 };
}

/** Valid but unusual event streams: comments, CRLF, no space after the colon, data on two lines. */
function unusual(frame: string): string {
  const lines = frame.trimEnd().split(/\r?\n/);
  const odd = lines.map((line) => line.replace(': ', ':').replace('{', '{\r\ndata: '));
  return `: a comment\r\n${odd.join('\r\n')}\r\n\r\n`;
}
