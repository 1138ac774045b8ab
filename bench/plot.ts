/** A line chart as SVG: no script, no embedded font, and readable on light and on dark pages. */
import { niceTicks, powerTicks, type Scale, scaleOf, type Tick } from './plot-scale.ts';

export type Series = Readonly<{ name: string; points: readonly Readonly<{ x: number; y: number }>[] }>;

export type Plot = Readonly<{
  title: string;
  xLabel: string;
  yLabel: string;
  /** The horizontal axis is logarithmic: 2 marks every doubling, 10 every power of ten. */
  xBase: 2 | 10;
  /** A linear axis starts at zero, so that a flat line is flat. */
  yScale: 'linear' | 'log';
  series: readonly Series[];
}>;

const width = 720;
const height = 360;
const frame = { left: 72, right: width - 150, top: 44, bottom: height - 52 };

// Distinguishable for most kinds of colour blindness, and each has its own dashes and marker.
const style = `
  text { font: 12px system-ui, sans-serif; fill: #24292f }
  .title { font-size: 14px; font-weight: 600 }
  .axis { stroke: #57606a }
  .grid { stroke: #d0d7de }
  .line { fill: none; stroke-width: 2 }
  .s0 { stroke: #0550ae } .m0 { fill: #0550ae }
  .s1 { stroke: #bc4c00; stroke-dasharray: 7 4 } .m1 { fill: #bc4c00 }
  .s2 { stroke: #116329; stroke-dasharray: 2 4 } .m2 { fill: #116329 }
  .s3 { stroke: #8250df; stroke-dasharray: 9 3 2 3 } .m3 { fill: #8250df }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .axis { stroke: #8b949e }
    .grid { stroke: #30363d }
    .s0 { stroke: #79c0ff } .m0 { fill: #79c0ff }
    .s1 { stroke: #ffa657 } .m1 { fill: #ffa657 }
    .s2 { stroke: #7ee787 } .m2 { fill: #7ee787 }
    .s3 { stroke: #d2a8ff } .m3 { fill: #d2a8ff }
  }`;
const styledSeries = 4;

/** Points that were not measured are left out. Throws when there is nothing to draw, or more lines than styles. */
export function plot({ title, xLabel, yLabel, xBase, yScale, series }: Plot): string {
  const drawable = series.map(({ name, points }) => ({
    name,
    points: points.filter(
      ({ x, y }) =>
        Number.isFinite(x) && Number.isFinite(y) && x > 0 && (y > 0 || (yScale === 'linear' && y >= 0)),
    ),
  }));
  const all = drawable.flatMap(({ points }) => points);
  if (all.length === 0 || series.length > styledSeries) throw new Error(`"${title}" cannot be drawn.`);
  const xTicks = powerTicks(
    all.map(({ x }) => x),
    xBase,
  );
  const yTicks =
    yScale === 'log'
      ? powerTicks(
          all.map(({ y }) => y),
          10,
        )
      : niceTicks(Math.max(...all.map(({ y }) => y)));
  const x = scaleOf(xTicks, 'log', frame.left, frame.right);
  const y = scaleOf(yTicks, yScale, frame.bottom, frame.top);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeText(title)}">`,
    `<style>${style}\n</style>`,
    `<text class="title" x="${frame.left}" y="22">${escapeText(title)}</text>`,
    ...yTicks.map((tick) => horizontal(tick, y)),
    ...xTicks.map((tick) => vertical(tick, x)),
    `<path class="axis" fill="none" d="M${frame.left} ${frame.top}V${frame.bottom}H${frame.right}"/>`,
    `<text x="${(frame.left + frame.right) / 2}" y="${height - 12}" text-anchor="middle">${escapeText(xLabel)}</text>`,
    `<text transform="translate(16 ${(frame.top + frame.bottom) / 2}) rotate(-90)" text-anchor="middle">${escapeText(yLabel)}</text>`,
    ...drawable.map((one, index) => line(one, index, x, y)),
    ...drawable.map(({ name }, index) => legend(name, index)),
    '</svg>',
    '',
  ].join('\n');
}

function horizontal({ value, text }: Tick, y: Scale): string {
  const at = round(y(value));
  return `<path class="grid" d="M${frame.left} ${at}H${frame.right}"/><text x="${frame.left - 8}" y="${at + 4}" text-anchor="end">${text}</text>`;
}

function vertical({ value, text }: Tick, x: Scale): string {
  const at = round(x(value));
  return `<path class="grid" d="M${at} ${frame.top}V${frame.bottom}"/><text x="${at}" y="${frame.bottom + 18}" text-anchor="middle">${text}</text>`;
}

function line({ points }: Series, index: number, x: Scale, y: Scale): string {
  const places = points.map((point) => [round(x(point.x)), round(y(point.y))] as const);
  const path = places.map(([left, top], at) => `${at === 0 ? 'M' : 'L'}${left} ${top}`).join('');
  return `<path class="line s${index}" d="${path}"/>${places.map(([left, top]) => marker(index, left, top)).join('')}`;
}

function marker(index: number, left: number, top: number): string {
  const shapes = [
    `<circle class="m${index}" cx="${left}" cy="${top}" r="3.5"/>`,
    `<path class="m${index}" d="M${left - 3.5} ${top - 3.5}h7v7h-7z"/>`,
    `<path class="m${index}" d="M${left} ${top - 4.5}l4.5 8h-9z"/>`,
    `<path class="m${index}" d="M${left} ${top - 5}l5 5l-5 5l-5 -5z"/>`,
  ];
  return shapes[index] ?? '';
}

function legend(name: string, index: number): string {
  const left = frame.right + 14;
  const top = frame.top + 10 + index * 20;
  return `<path class="line s${index}" d="M${left} ${top}h22"/>${marker(index, left + 11, top)}<text x="${left + 28}" y="${top + 4}">${escapeText(name)}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escapeText(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
