/**
 * What an export costs: the memory of the gateway while it exports many Generations, and the latency of requests meanwhile,
 * against the same requests without it. Checks that the export has every row. Prints a table. By hand:
 * `bun bench/exports.ts [GENERATIONS] [REQUESTS PER SECOND]`, by default a million and 200.
 */
import { createAccounts } from './accounts.ts';
import { residentBytes } from './cpu.ts';
import { fillGenerations, finishMaintenance } from './fill.ts';
import { type Gateway, onDatabase, startGateway } from './gateway.ts';
import type { LoadResult } from './load.ts';
import { localTarget, models } from './scenarios.ts';
import { median } from './statistics.ts';
import { type Load, startUpstreamAndLoad } from './subjects.ts';
import { formatNumber, formatTable } from './table.ts';
import { withWorkshop } from './workshop.ts';

const [wanted = '1000000', rate = '200'] = process.argv.slice(2);
const perSecond = Number(rate);
const accountCount = 20;
const windowMs = 10_000;
const windowsWithout = 6;
const warmUpMs = 15_000;
const warmUpLines = 50_000;
const sampleMs = 250;

await withWorkshop(async (workshop) => {
  const { upstreamPort, load } = await startUpstreamAndLoad(workshop);
  const gateway = await startGateway(upstreamPort, workshop);
  await fill(load, gateway);
  const created = ['token', 'create', '--name', 'Bench', '--scopes', 'read', '--rpm', '1000'];
  const { token } = await gateway.command<{ token: string }>(created);

  note('warming up');
  await Promise.all([run(load, gateway, warmUpMs), exportAll(gateway, token, warmUpLines)]);

  note(`${perSecond} requests a second without an export`);
  const memoryWithout = watchMemory(gateway);
  const without: LoadResult[] = [];
  while (without.length < windowsWithout) without.push(await run(load, gateway, windowMs));

  const residentWithout = memoryWithout.stop();

  note(`${perSecond} requests a second during the export`);
  const memory = watchMemory(gateway);
  let isOver = false;
  const startedAtMs = performance.now();
  const exporting = exportAll(gateway, token).finally(() => {
    isOver = true;
  });
  // Its failure is reported below.
  exporting.catch(() => undefined);
  const during: LoadResult[] = [];
  while (!isOver) during.push(await run(load, gateway, windowMs));
  const { lines, disordered, bytes, to } = await exporting;
  const seconds = (performance.now() - startedAtMs) / 1000;
  const resident = memory.stop();

  const missing = await onDatabase(gateway, async (sql) => {
    const [row] = await sql<[{ count: number }]>`
      select count(*)::int as count from generations where id < first_id_at(${to}::text::timestamptz)`;
    return row.count - lines;
  });
  const results = [...without, ...during];
  const errors = results.flatMap((result) => Object.entries(result.errors));
  process.stdout.write(
    [
      '',
      formatTable(
        [
          'requests',
          'p50, ms',
          'p99, ms',
          'highest p99 of 10 s, ms',
          'served',
          'memory of the gateway at the start, in quarters, at the end, MB',
          'at most, MB',
        ],
        [rowOf('without', without, residentWithout), rowOf('during the export', during, resident)],
      ),
      '',
      `The export has ${lines} lines and ${formatNumber(bytes / 1e6)} MB, and took ${formatNumber(seconds)} s (rounded up to 10 s).`,
      missing === 0 && disordered === 0
        ? 'Every Generation is in it, once.'
        : `WRONG: ${missing} lines are missing, and ${disordered} are not in order.`,
      errors.length === 0 ? 'No request failed.' : `FAILED: ${JSON.stringify(errors)}`,
      ...gateway.complaints(),
      '',
    ].join('\n'),
  );
  if (missing !== 0 || disordered > 0 || errors.length > 0) process.exitCode = 1;
});

async function fill(load: Load, gateway: Gateway): Promise<void> {
  await onDatabase(gateway, async (sql) => {
    const owners = await createAccounts(sql, accountCount);
    // The price list of the catalogue is stored with the first request that needs it.
    await run(load, gateway, 1_000);
    const filled = await fillGenerations(sql, owners, Number(wanted), (count) => note(`${count} filled`));
    await finishMaintenance(sql);
    note(`${filled} Generations`);
  });
}

function note(text: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
}

async function run(load: Load, gateway: Gateway, durationMs: number): Promise<LoadResult> {
  const targets = [localTarget(gateway.port, [gateway.key])];
  await load.ask({ type: 'prepare', targets, model: models.json, connections: 64, warmUpMs: 0 });
  return await load.ask({ type: 'pace', perSecond, durationMs });
}

/** Reads as fast as it comes, and keeps only how many lines came in their order. With `enough`, it leaves after so many. */
async function exportAll({ port }: Gateway, token: string, enough = Number.POSITIVE_INFINITY) {
  const from = new Date(Date.now() - 24 * 60 * 60 * 1000).toISOString();
  const response = await fetch(
    `http://127.0.0.1:${port}/admin/v1/exports/generations?format=ndjson&from=${from}`,
    { headers: { authorization: `Bearer ${token}` } },
  );
  if (!response.ok || response.body === null) throw new Error(`The export answered ${response.status}.`);
  const decoder = new TextDecoder();
  let lines = 0;
  let disordered = 0;
  let bytes = 0;
  let last = '';
  let rest = '';
  for await (const chunk of response.body) {
    bytes += chunk.length;
    const texts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = texts.pop() ?? '';
    for (const text of texts) {
      const cursor = text.split('"', 4)[3] ?? '';
      if (cursor <= last) disordered += 1;
      last = cursor;
    }
    lines += texts.length;
    if (lines >= enough) break;
  }
  return { lines, disordered, bytes, to: response.headers.get('x-export-to') ?? '' };
}

/** In megabytes, over time. */
function watchMemory({ processId }: Gateway): Readonly<{ stop: () => number[] }> {
  const look = () => residentBytes(processId) / 1e6;
  const samples = [look()];
  const timer = setInterval(() => samples.push(look()), sampleMs);
  return {
    stop: () => {
      clearInterval(timer);
      return [...samples, look()];
    },
  };
}

function rowOf(name: string, results: readonly LoadResult[], memory: readonly number[]): string[] {
  const atQuarters = [0, 1, 2, 3, 4].map(
    (quarter) => memory[Math.round(((memory.length - 1) * quarter) / 4)],
  );
  return [
    name,
    formatNumber(median(results.map(({ p50Ms }) => p50Ms))),
    formatNumber(median(results.map(({ p99Ms }) => p99Ms))),
    formatNumber(Math.max(...results.map(({ p99Ms }) => p99Ms))),
    `${results.reduce((sum, { completed }) => sum + completed, 0)}`,
    atQuarters.map((megabytes) => formatNumber(megabytes ?? Number.NaN)).join(', '),
    formatNumber(Math.max(...memory)),
  ];
}
