/** This many of the items, all equally often, or some once more than others. */
export function spread<Item>(count: number, items: readonly Item[]): Item[] {
  if (items.length === 0) throw new Error('There is nothing to spread.');
  return Array.from({ length: Math.ceil(count / items.length) }, () => items)
    .flat()
    .slice(0, count);
}

/** Items drawn at random, some more often than others, as customers come. */
export function drawn<Item>(count: number, items: readonly Item[], random: () => number): Item[] {
  return Array.from({ length: count }, () => items[Math.floor(random() * items.length)]).filter(
    (item) => item !== undefined,
  );
}
