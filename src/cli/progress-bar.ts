/** A line at the bottom of a terminal that is overwritten in place. Nothing is written to anything but a terminal. */

const width = 24;
const maxLabel = 50;

export type ProgressBar = Readonly<{
  show: (done: number, total: number, label: string) => void;
  clear: () => void;
}>;

export function progressBar(
  output: Readonly<{ isTTY?: boolean; write: (text: string) => boolean }>,
): ProgressBar {
  if (output.isTTY !== true) return { show: () => undefined, clear: () => undefined };
  return {
    show: (done, total, label) => {
      const filled = total === 0 ? width : Math.round((Math.min(done, total) / total) * width);
      const bar = '#'.repeat(filled).padEnd(width, '.');
      output.write(`\r\x1b[K[${bar}] ${done}/${total} ${label.slice(0, maxLabel)}`);
    },
    clear: () => {
      output.write('\r\x1b[K');
    },
  };
}
