/** One colour for each model on every page, and different ones for those that are seen together. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { colourCount, modelColour, modelColours, othersColour } from '../../dashboard/kit/model-colours.ts';

const names = fc.uniqueArray(fc.string({ maxLength: 30 }), { maxLength: colourCount });

test('the colour follows from the name, also of names that objects would stumble over', () => {
  for (const name of ['gpt-5', 'claude-sonnet', '__proto__', 'constructor', ''])
    expect(modelColour(name)).toMatch(/^bg-chart-([124-9]|10)$/);
  expect(new Set(Array.from({ length: 100 }, (_, at) => modelColour(`model-${at}`))).size).toBe(colourCount);
});

test('those that are seen together differ, in whatever order they come', () => {
  fc.assert(
    fc.property(names, (some) => {
      const colours = modelColours(some);
      expect(new Set(colours.values()).size).toBe(some.length);
      expect([...colours.values()]).not.toContain(othersColour);
      expect(Object.fromEntries(modelColours(some.toReversed()))).toEqual(Object.fromEntries(colours));
    }),
  );
});

test('only those that collide get another colour than alone, and of these all but one', () => {
  fc.assert(
    fc.property(names, (some) => {
      const colours = modelColours(some);
      for (const [colour, same] of Map.groupBy(some, (name) => modelColour(name)))
        expect(same.filter((name) => colours.get(name) === colour)).toHaveLength(1);
    }),
  );
});

test('no two models of the catalogue have the same colour, on every page and in every chart', () => {
  fc.assert(
    fc.property(names, fc.nat(colourCount), (catalogue, count) => {
      const colours = catalogue.map((name) => modelColour(name, catalogue));
      expect(new Set(colours).size).toBe(catalogue.length);
      expect(catalogue.map((name) => modelColour(name, catalogue.toReversed()))).toEqual(colours);
      const drawn = catalogue.slice(0, count);
      expect([...modelColours(drawn, catalogue)].toSorted()).toEqual(
        drawn.map((name) => [name, modelColour(name, catalogue)] as [string, string]).toSorted(),
      );
    }),
  );
  expect(modelColour('gone', ['gpt-5-mini'])).toBe(modelColour('gone'));
});

test('beyond the number of colours, each has one still', () => {
  const many = Array.from({ length: 50 }, (_, at) => `model-${at}`);
  expect(modelColours(many).size).toBe(50);
});
