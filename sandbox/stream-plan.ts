/** Turns the events of a stream into what is to be written, with the faults that a scenario asks for. */

import type { ChatFormat, StreamOutline } from './format.ts';
import { gzipWrites } from './gzip.ts';
import type { Position, Scenario } from './scenario.ts';
import { cutBytes, padText, type Transfer, type Writes } from './transfer.ts';
import type { ReportedUsage } from './usage.ts';

/** The events to send, and what comes after them. */
type Script = Readonly<{
  events: readonly string[];
  ending: Transfer['ending'];
  isWhole: boolean;
  /** Which event tells the usage; null when none does. */
  usageIndex: number | null;
}>;

export function planStream(
  format: ChatFormat,
  outline: StreamOutline,
  usage: ReportedUsage | null,
  scenario: Scenario,
  number: number,
): Transfer {
  const { events, ending, isWhole, usageIndex } = scriptOf(format, outline, scenario, number);
  const frames = events.map(scenario.crlf ? (event) => unusual(format.frame(event)) : format.frame);
  const { writes, shift } = writesOf(frames, scenario);
  const reported = usage !== null && usageIndex !== null ? usage : null;
  return {
    writes: scenario.gzip ? gzipWrites(writes, ending === 'end') : writes,
    delayMs: scenario['chunk-delay'] ?? 0,
    ending,
    isWhole,
    // Where one event is not one write, the usage counts as told from the first byte on.
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
    const isUsageTold = count === payloads.length;
    const events = [...payloads.slice(0, count), ...more];
    return { events, ending, isWhole: false, usageIndex: isUsageTold ? usageIndex : null };
  };

  if (scenario.empty) return { events: [], ending: 'end', isWhole: false, usageIndex: null };
  if (scenario.cut !== undefined) return broken(scenario.cut, 'reset');
  if (scenario.stall !== undefined) return broken(scenario.stall, 'stall');
  if (scenario.end !== undefined) return broken(scenario.end, 'end');
  if (scenario['error-event'] !== undefined) {
    const error = format.errorBody({ status: 500, message: 'The server had an error.' }, number);
    const { endAfterError } = format;
    return broken(scenario['error-event'], 'end', endAfterError === null ? [error] : [error, endAfterError]);
  }

  const isWhole = !scenario['no-done'] || end === null;
  const events = isWhole && end !== null ? [...payloads, end] : [...payloads];
  if (scenario.malformed === undefined) return { events, ending: 'end', isWhole, usageIndex };
  const count = upTo(scenario.malformed);
  events.splice(count, 0, '{broken');
  return { events, ending: 'end', isWhole, usageIndex: count > usageIndex ? usageIndex : usageIndex + 1 };
}

/** One write an event, all in one, or cut by bytes. `shift` is how much later a write is than its event, if it has one. */
function writesOf(
  frames: readonly string[],
  { huge, burst, bytes }: Scenario,
): Readonly<{ writes: Writes; shift: number | null }> {
  if (huge !== undefined && frames.length > 0) {
    const padded = padText(frames[0] ?? '', huge);
    return { writes: [...padded, ...frames.slice(1)], shift: padded.length - 1 };
  }
  if (burst) return { writes: [frames.join('')], shift: null };
  if (bytes !== undefined) return { writes: cutBytes(frames.join(''), bytes), shift: null };
  return { writes: frames, shift: 0 };
}

/** What the event stream format allows and few servers write: comments, CRLF, no space, data on two lines. */
function unusual(frame: string): string {
  const lines = frame.trimEnd().split(/\r?\n/);
  const odd = lines.map((line) => line.replace(': ', ':').replace('{', '{\r\ndata: '));
  return `: a comment\r\n${odd.join('\r\n')}\r\n\r\n`;
}
