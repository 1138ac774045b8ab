/**
 * A deadline for somebody who waits outside of this process: their time goes on while it stands still. What has arrived
 * meanwhile is read before the deadline passes.
 */
const readingMs = 100;

export type WallDeadline = Readonly<{ clear: () => void }>;

export function startWallDeadline(durationMs: number, expire: () => void): WallDeadline {
  let timer = setTimeout(() => {
    timer = setTimeout(expire, readingMs);
  }, durationMs - readingMs);
  return { clear: () => clearTimeout(timer) };
}
