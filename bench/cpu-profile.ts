/** Reads the profile that Bun writes, in the form that browsers' tools know: times are in microseconds. */
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

type Frame = Readonly<{ functionName: string; url: string; lineNumber: number }>;
type Node = Readonly<{ id: number; callFrame: Frame; children?: readonly number[] }>;

export type CpuProfile = Readonly<{
  nodes: readonly Node[];
  startTime: number;
  samples: readonly number[];
  timeDeltas: readonly number[];
}>;

const root = join(import.meta.dir, '..');

/** The time that each function took itself between two moments, the most first. */
export function selfTimes(
  { nodes, startTime, samples, timeDeltas }: CpuProfile,
  intervalMicroseconds: number,
  fromMs: number,
  toMs: number,
): (readonly [name: string, microseconds: number])[] {
  const names = nameNodes(nodes);
  const times = new Map<string, number>();
  let at = startTime;
  samples.forEach((id, index) => {
    const delta = timeDeltas[index] ?? 0;
    at += delta;
    if (at < fromMs * 1000 || at > toMs * 1000) return;
    const name = names.get(id) ?? '?';
    // Samples are taken only while there is something to do, so a long gap is a pause and not work.
    times.set(name, (times.get(name) ?? 0) + Math.min(delta, 2 * intervalMicroseconds));
  });
  return [...times].sort(([, a], [, b]) => b - a);
}

/** A function of the runtime is named together with the function of ours that called it. */
function nameNodes(nodes: readonly Node[]): ReadonlyMap<number, string> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  const nameOf = (node: Node): string => {
    if (isOurs(node.callFrame)) return nameOfFrame(node.callFrame);
    let caller = byId.get(parents.get(node.id) ?? -1);
    while (caller && !isOurs(caller.callFrame)) caller = byId.get(parents.get(caller.id) ?? -1);
    const own = nameOfFrame(node.callFrame);
    return caller ? `${own} ← ${nameOfFrame(caller.callFrame)}` : own;
  };
  return new Map(nodes.map((node) => [node.id, nameOf(node)]));
}

function isOurs({ url }: Frame): boolean {
  return url.startsWith('file:') && !url.includes('/node_modules/');
}

function nameOfFrame({ functionName, url }: Frame): string {
  const name = functionName === '' ? '(anonymous)' : functionName;
  const place = url.startsWith('file:') ? relative(root, fileURLToPath(url)) : url;
  return place === '' ? name : `${name} (${place})`;
}
