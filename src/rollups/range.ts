/** The time that figures are for: its steps, and which of the stored sums cover which part of it. */

import { dayMs, hourMs, minuteMs } from '../lib/time-units.ts';

/** How long sums by minute and by hour are kept. */
export const minutesKeptMs = 14 * dayMs;
export const hoursKeptMs = 400 * dayMs;

/** From the first moment up to, but without, the other. */
export type Span = Readonly<{ fromMs: number; toMs: number }>;
export type Steps = Span & Readonly<{ stepMs: number }>;

const maxSteps = 100;
const minutesInSteps = [1, 2, 5, 10, 15, 30];
const hoursInSteps = [1, 2, 3, 4, 6, 8, 12, 24, 48, 72, 96, 168, 336];
const stepsMs = [
  ...minutesInSteps.map((count) => count * minuteMs),
  ...hoursInSteps.map((count) => count * hourMs),
];

/** The span, widened to whole minutes or hours, in at most 100 steps, of which the last may be shorter. */
export function stepsOf(span: Span, nowMs: number): Steps {
  const isByHour = span.fromMs < oldestMinuteMs(nowMs);
  const shortest = isByHour ? hourMs : minuteMs;
  for (const stepMs of stepsMs) {
    if (stepMs < shortest) continue;
    const wide = widened(span, stepMs < hourMs ? minuteMs : hourMs);
    if ((wide.toMs - wide.fromMs) / stepMs <= maxSteps) return { ...wide, stepMs };
  }
  const wide = widened(span, hourMs);
  return { ...wide, stepMs: Math.ceil((wide.toMs - wide.fromMs) / maxSteps / hourMs) * hourMs };
}

/** The first minute whose sums are surely still there. */
function oldestMinuteMs(nowMs: number): number {
  return floorTo(nowMs - minutesKeptMs, hourMs) + hourMs;
}

/** The whole range as one step, or the one of the same length before it. */
export function inOneStep({ fromMs, toMs }: Span): Steps {
  return { fromMs, toMs, stepMs: toMs - fromMs };
}

export function before({ fromMs, toMs }: Span): Span {
  return { fromMs: fromMs - (toMs - fromMs), toMs: fromMs };
}

export function widened({ fromMs, toMs }: Span, unitMs: number): Span {
  return { fromMs: floorTo(fromMs, unitMs), toMs: ceilTo(toMs, unitMs) };
}

export function floorTo(timeMs: number, unitMs: number): number {
  return Math.floor(timeMs / unitMs) * unitMs;
}

export function ceilTo(timeMs: number, unitMs: number): number {
  return Math.ceil(timeMs / unitMs) * unitMs;
}

export function timeOf(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

export function stepCount({ fromMs, toMs, stepMs }: Steps): number {
  return Math.ceil((toMs - fromMs) / stepMs);
}

/** What has been added up, as rollup_progress and dirty_minutes say it. */
export type Progress = Readonly<{
  rolledToMs: number;
  /** Minus infinity when everything was. */
  minutesFromMs: number;
  hoursFromMs: number;
  /** Minutes that have changed since. */
  dirtyMs: readonly number[];
}>;

/** From when on the sums are known, if that is later than the beginning. */
export function knownFrom({ fromMs, toMs }: Span, { hoursFromMs }: Progress): number | null {
  return hoursFromMs > fromMs ? Math.min(hoursFromMs, toMs) : null;
}

/** Whether there are sums that end where the span does: minutes are not kept as long as hours. */
export function isKept(span: Span, nowMs: number): boolean {
  return stepsOf(span, nowMs).fromMs === span.fromMs && span.fromMs > nowMs - hoursKeptMs;
}

/** A part of one step. */
export type Piece = Span & Readonly<{ step: number }>;

/** Where the figures of a range are. `raw` is what has to be counted one by one. */
export type Pieces = Readonly<{ hours: Piece[]; minutes: Piece[]; raw: Piece[] }>;

/**
 * Where the Generations of a range are counted: each exactly once, and from the largest sums that are true. What is before
 * `hoursFromMs` is in none of them.
 */
export function piecesOf(steps: Steps, progress: Progress): Pieces {
  const pieces: Pieces = { hours: [], minutes: [], raw: [] };
  const dirty = new Set(progress.dirtyMs);
  const dirtyHours = new Set(progress.dirtyMs.map((timeMs) => floorTo(timeMs, hourMs)));
  for (const part of partsByHour(steps)) {
    const { step, fromMs, toMs } = part;
    const hour = floorTo(fromMs, hourMs);
    if (hour < progress.hoursFromMs) continue;
    // However far a range goes beyond what is added up, it is not walked minute by minute.
    if (hour >= progress.rolledToMs) {
      add(pieces.raw, part);
      continue;
    }
    const isWhole = toMs - fromMs === hourMs;
    const isOver = hour + hourMs <= progress.rolledToMs;
    if (isWhole && isOver && !dirtyHours.has(hour)) add(pieces.hours, part);
    else if (hour < progress.minutesFromMs) add(pieces.raw, part);
    else
      for (let timeMs = fromMs; timeMs < toMs; timeMs += minuteMs) {
        const isTrue = timeMs < progress.rolledToMs && !dirty.has(timeMs);
        add(isTrue ? pieces.minutes : pieces.raw, { step, fromMs: timeMs, toMs: timeMs + minuteMs });
      }
  }
  return pieces;
}

/** Where refusals are counted. These sums are always true. */
export function refusalPiecesOf(steps: Steps): Pick<Pieces, 'hours' | 'minutes'> {
  const pieces: Pick<Pieces, 'hours' | 'minutes'> = { hours: [], minutes: [] };
  for (const part of partsByHour(steps))
    add(part.toMs - part.fromMs === hourMs ? pieces.hours : pieces.minutes, part);
  return pieces;
}

/** A piece with which of its requests are wanted. */
export type SumPiece = Piece & Readonly<{ of: 'all' | 'finished' | 'refused' }>;

/** What two lists have in common is read once. */
export function sumPiecesOf(finished: readonly Piece[], refused: readonly Piece[]): SumPiece[] {
  const onlyFinished = without(finished, refused);
  return [
    ...without(finished, onlyFinished).map((piece) => ({ ...piece, of: 'all' }) as const),
    ...onlyFinished.map((piece) => ({ ...piece, of: 'finished' }) as const),
    ...without(refused, finished).map((piece) => ({ ...piece, of: 'refused' }) as const),
  ];
}

function without(pieces: readonly Piece[], others: readonly Piece[]): Piece[] {
  return others.reduce<readonly Piece[]>(
    (left, other) => left.flatMap((piece) => cutOut(piece, other)),
    pieces,
  ) as Piece[];
}

function cutOut(piece: Piece, other: Piece): Piece[] {
  if (piece.step !== other.step || other.toMs <= piece.fromMs || piece.toMs <= other.fromMs) return [piece];
  const parts = [
    { ...piece, toMs: other.fromMs },
    { ...piece, fromMs: other.toMs },
  ];
  return parts.filter(({ fromMs, toMs }) => fromMs < toMs);
}

/** Whole UTC days among pieces, and what is left of these. */
export function withDays(pieces: readonly SumPiece[]): Readonly<{ days: SumPiece[]; hours: SumPiece[] }> {
  const days: SumPiece[] = [];
  const hours: SumPiece[] = [];
  for (const piece of pieces) {
    const day = { ...piece, fromMs: ceilTo(piece.fromMs, dayMs), toMs: floorTo(piece.toMs, dayMs) };
    if (day.fromMs >= day.toMs) {
      hours.push(piece);
      continue;
    }
    days.push(day);
    hours.push(...cutOut(piece, day).map((part) => ({ ...part, of: piece.of })));
  }
  return { days, hours };
}

function* partsByHour(steps: Steps): Generator<Piece> {
  for (let step = 0; step < stepCount(steps); step += 1) {
    const endMs = Math.min(steps.fromMs + (step + 1) * steps.stepMs, steps.toMs);
    for (let fromMs = steps.fromMs + step * steps.stepMs; fromMs < endMs; ) {
      const toMs = Math.min(endMs, floorTo(fromMs, hourMs) + hourMs);
      yield { step, fromMs, toMs };
      fromMs = toMs;
    }
  }
}

/** Pieces that follow each other in a step are one. */
function add(pieces: Piece[], next: Piece): void {
  const last = pieces.at(-1);
  if (last?.step === next.step && last.toMs === next.fromMs)
    pieces[pieces.length - 1] = { ...last, toMs: next.toMs };
  else pieces.push(next);
}
