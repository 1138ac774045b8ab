/** Reads the profile that Bun writes, in the format of browser devtools: times are in microseconds. */
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

export type SelfTimes = readonly (readonly [name: string, microseconds: number])[];

/**
 * The self time of each function between two moments, longest first, and the same by file: a function of the runtime
 * counts for the file of ours that called it.
 */
export function selfTimes(
  { nodes, startTime, samples, timeDeltas }: CpuProfile,
  intervalMicroseconds: number,
  fromMs: number,
  toMs: number,
): Readonly<{ byFunction: SelfTimes; byFile: SelfTimes }> {
  const places = placeNodes(nodes);
  const byFunction = new Map<string, number>();
  const byFile = new Map<string, number>();
  let at = startTime;
  samples.forEach((id, index) => {
    const delta = timeDeltas[index] ?? 0;
    at += delta;
    if (at < fromMs * 1000 || at > toMs * 1000) return;
    const { name, file } = places.get(id) ?? { name: '?', file: '?' };
    // Samples are taken only while there is something to do, so a long gap is a pause and not work.
    const time = Math.min(delta, 2 * intervalMicroseconds);
    byFunction.set(name, (byFunction.get(name) ?? 0) + time);
    byFile.set(file, (byFile.get(file) ?? 0) + time);
  });
  return { byFunction: mostFirst(byFunction), byFile: mostFirst(byFile) };
}

function mostFirst(times: ReadonlyMap<string, number>): SelfTimes {
  return [...times].sort(([, a], [, b]) => b - a);
}

/** A function of the runtime is named together with the function of ours that called it. */
function placeNodes(nodes: readonly Node[]): ReadonlyMap<number, { name: string; file: string }> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  const placeOf = (node: Node) => {
    const own = nameOfFrame(node.callFrame);
    let ours: Node | undefined = node;
    while (ours && !isOurs(ours.callFrame)) ours = byId.get(parents.get(ours.id) ?? -1);
    if (ours === undefined) return { name: own, file: '(runtime)' };
    const name = ours === node ? own : `${own} ← ${nameOfFrame(ours.callFrame)}`;
    return { name, file: fileOf(ours.callFrame) };
  };
  return new Map(nodes.map((node) => [node.id, placeOf(node)]));
}

function isOurs({ url }: Frame): boolean {
  return url.startsWith('file:') && !url.includes('/node_modules/');
}

function nameOfFrame(frame: Frame): string {
  const name = frame.functionName === '' ? '(anonymous)' : frame.functionName;
  const file = fileOf(frame);
  return file === '' ? name : `${name} (${file})`;
}

function fileOf({ url }: Frame): string {
  return url.startsWith('file:') ? relative(root, fileURLToPath(url)) : url;
}
