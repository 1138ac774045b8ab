/** The plots of the bench: that every point is where its values put it, and that nothing in them is broken XML. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type Plot, plot } from '../../bench/plot.ts';
import { niceTicks, powerTicks, scaleOf } from '../../bench/plot-scale.ts';

const example: Plot = {
  title: 'Cost <over> "accounts" & keys',
  xLabel: 'accounts',
  yLabel: 'µs',
  xBase: 10,
  yScale: 'linear',
  series: [
    {
      name: 'gateway',
      points: [
        { x: 1, y: 100 },
        { x: 1000, y: 50 },
      ],
    },
    { name: 'bare', points: [{ x: 10, y: 0 }] },
  ],
};

const positive = fc.double({ min: 1e-3, max: 1e8, noNaN: true });

describe('axes', () => {
  test('ticks of a logarithmic axis are powers that enclose all values', () => {
    fc.assert(
      fc.property(fc.array(positive, { minLength: 1 }), fc.constantFrom(2, 10), (values, base) => {
        const ticks = powerTicks(values, base as 2 | 10).map(({ value }) => value);
        expect(ticks[0]).toBeLessThanOrEqual(Math.min(...values) * (1 + 1e-6));
        expect(ticks.at(-1)).toBeGreaterThanOrEqual(Math.max(...values) * (1 - 1e-6));
        expect(ticks.length).toBeGreaterThan(1);
      }),
    );
    expect(powerTicks([1, 512], 2).map(({ text }) => text)).toEqual(
      '1 2 4 8 16 32 64 128 256 512'.split(' '),
    );
    expect(powerTicks([10_000, 10_000_000], 10).map(({ text }) => text)).toEqual([
      '10 k',
      '100 k',
      '1 M',
      '10 M',
    ]);
  });

  test('a linear axis starts at zero and ends above the highest value, in a few round steps', () => {
    fc.assert(
      fc.property(positive, (max) => {
        const ticks = niceTicks(max).map(({ value }) => value);
        expect(ticks[0]).toBe(0);
        expect(ticks.at(-1)).toBeGreaterThanOrEqual(max * (1 - 1e-9));
        expect(ticks.length).toBeLessThanOrEqual(7);
        expect(ticks.length).toBeGreaterThan(1);
      }),
    );
    expect(niceTicks(0).length).toBe(2);
    expect(niceTicks(93).map(({ text }) => text)).toEqual(['0', '20', '40', '60', '80', '100']);
  });

  test('a scale puts the first tick at the start and the last at the end', () => {
    const log = scaleOf(powerTicks([1, 1000], 10), 'log', 50, 350);
    expect([1, 10, 1000].map((value) => Math.round(log(value)))).toEqual([50, 150, 350]);
    const linear = scaleOf(niceTicks(100), 'linear', 300, 100);
    expect([0, 50, 100].map(linear)).toEqual([300, 200, 100]);
  });
});

describe('a plot', () => {
  test('has a title, labels for both axes and a name for each line, with escaped text', () => {
    const svg = plot(example);
    expect(svg).toContain('>Cost &lt;over&gt; &quot;accounts&quot; &amp; keys</text>');
    for (const text of ['accounts', 'µs', 'gateway', 'bare']) expect(svg).toContain(`>${text}</text>`);
    expect(svg).toContain('prefers-color-scheme: dark');
  });

  test('draws the higher value higher and the larger number further to the right', () => {
    const path = /class="line s0" d="M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)"/.exec(plot(example));
    const [left = 0, top = 0, nextLeft = 0, nextTop = 0] = (path ?? []).slice(1).map(Number);
    expect(nextLeft).toBeGreaterThan(left);
    expect(nextTop).toBeGreaterThan(top);
    // 50 is half of 100, because the axis starts at zero.
    const bottom = Number(/class="m1" d="M[\d.]+ ([\d.]+)/.exec(plot(example))?.[1]) + 3.5;
    expect((bottom - nextTop) * 2).toBeCloseTo(bottom - top, 0);
  });

  test('keeps within its frame, whatever is measured, and leaves out what is not', () => {
    const value = fc.oneof(positive, fc.constantFrom(Number.NaN, 0, Number.POSITIVE_INFINITY));
    const points = fc.array(fc.record({ x: value, y: value }), { maxLength: 8 });
    fc.assert(
      fc.property(
        fc.array(points, { minLength: 1, maxLength: 4 }),
        fc.constantFrom('linear', 'log'),
        (lines, yScale) => {
          const series = [
            ...lines.slice(0, 3).map((line, index) => ({ name: `${index}`, points: line })),
            { name: 'known', points: [{ x: 1, y: 1 }] },
          ];
          const svg = plot({ ...example, yScale, series });
          expect(svg).not.toMatch(/NaN|Infinity|undefined/);
          for (const [, x = '', y = ''] of svg.matchAll(/<circle[^>]* cx="([^"]*)" cy="([^"]*)"/g)) {
            expect(Number(x)).toBeGreaterThanOrEqual(0);
            expect(Number(x)).toBeLessThanOrEqual(720);
            expect(Number(y)).toBeGreaterThanOrEqual(0);
            expect(Number(y)).toBeLessThanOrEqual(360);
          }
        },
      ),
    );
  });

  test('of nothing, or of more lines than can be told apart, is refused', () => {
    expect(() => plot({ ...example, series: [{ name: 'a', points: [] }] })).toThrow('cannot be drawn');
    const five = Array.from({ length: 5 }, () => ({ name: 'a', points: [{ x: 1, y: 1 }] }));
    expect(() => plot({ ...example, series: five })).toThrow('cannot be drawn');
  });
});
