/** A catalogue that is put to use while the database does not answer. */
import { expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import type { Log } from '../../src/lib/log.ts';
import { Calls } from '../../src/providers/call.ts';
import { followCatalog } from '../../src/routing/active-catalog.ts';
import { createDatabase } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/gateway.ts';

const small = readFileSync(join(import.meta.dir, '../support/small-catalog.yaml'), 'utf8');

test('its price lists, and those of its groups, are stored at the same time, not one after the other', async () => {
  const database = await createDatabase();
  const { sql } = database;
  const file = join(temporaryFolder(), 'catalog.yaml');
  writeFileSync(file, `${small}price_groups: { one: { discount: "1" }, two: { discount: "2" } }\n`);
  const warnings: string[] = [];
  const log: Log = {
    debug: () => undefined,
    info: () => undefined,
    warn: (event) => warnings.push(event),
    error: () => undefined,
  };
  const surroundings = { secret: () => null, isProxied: true, calls: new Calls() };
  const client = new SQL(database.url, { max: 3 });
  const following = await sql.begin(async (transaction) => {
    await transaction`lock table price_lists in access exclusive mode`;
    const running = followCatalog(file, surroundings, client, log);
    await eventually('all price lists wait', async () => {
      const waiting = await sql`
        select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      return waiting.length === 3;
    });
    expect(warnings).toEqual([]);
    return { running };
  });
  const followed = await following.running;
  const { priceList, priceGroups } = followed.current();
  const lists = [priceList, ...[...priceGroups.values()].map((group) => group.priceList)];
  expect(new Set(lists.map(({ knownId }) => knownId)).size).toBe(3);
  expect([...priceGroups.keys()]).toEqual(['one', 'two']);
  await followed.close();
  await client.close();
  await database.close();
});
