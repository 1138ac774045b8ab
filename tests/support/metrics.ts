/** Reads Prometheus' text format as strictly as a scraper does. */

export type Sample = Readonly<{ name: string; labels: Readonly<Record<string, string>>; value: number }>;

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/s;
const pair = /([a-zA-Z_]\w*)="((?:[^"\\]|\\["\\n])*)"(?:,|$)/gsy;

export function readSamples(text: string): Sample[] {
  if (text !== '' && !text.endsWith('\n')) throw new Error('The last line is not ended.');
  return text
    .split('\n')
    .filter((one) => one !== '' && !one.startsWith('#'))
    .map((one) => {
      const [, name = '', labels = '', value = ''] = line.exec(one) ?? [];
      if (name === '') throw new Error(`Not a sample: ${one}`);
      return { name, labels: readLabels(labels), value: Number(value.replace('Inf', 'Infinity')) };
    });
}

function readLabels(text: string): Record<string, string> {
  const pairs = [...text.matchAll(pair)];
  if (pairs.map(([all]) => all).join('') !== text) throw new Error(`Not labels: ${text}`);
  return Object.fromEntries(pairs.map(([, name = '', value = '']) => [name, unescaped(value)]));
}

function unescaped(value: string): string {
  return value.replace(/\\(.)/g, (_all, character: string) => (character === 'n' ? '\n' : character));
}
