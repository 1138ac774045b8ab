/** What clients notice when workers are killed, and whether the executable needs anything else. */
import { chmodSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startSandbox } from '../../sandbox/server.ts';
import { chatCatalog } from '../../tests/support/chat-fixture.ts';
import { launchGateway, temporaryFolder, tollgateJson } from '../../tests/support/gateway.ts';
import { workerProcesses } from '../../tests/support/workers.ts';
import { deploy, isSound, startDatabase, targetOf, withCleanUp } from './deployment.ts';
import { SteadyLoad } from './load.ts';
import type { Measurement } from './measurement.ts';

const killEveryMs = 2_000;

export const killedWorkers: Measurement = {
  name: 'workers',
  needs: ['ps'],
  run: (form) =>
    withCleanUp(async (later) => {
      const server = await startDatabase();
      later(() => server.stop());
      const deployment = await deploy({ DATABASE_URL: server.url('gateway'), WORKERS: '2' });
      later(deployment.close);
      const load = new SteadyLoad(targetOf(deployment), form.perSecond);
      later(() => load.stop());
      let kills = 0;
      for (const startedAtMs = performance.now(); performance.now() - startedAtMs < form.seconds * 1_000; ) {
        await Bun.sleep(killEveryMs);
        const workers = workerProcesses(deployment.gateway);
        const chosen = workers[kills % 2];
        if (chosen === undefined) continue;
        process.kill(chosen, 'SIGKILL');
        kills += 1;
      }
      return [
        {
          what: 'WORKERS=2, one of them killed every 2 s',
          load: await load.stop(),
          seen: `${kills} kills`,
          isSound: await isSound(deployment.environment),
        },
      ];
    }),
};

const root = join(import.meta.dir, '../..');
const nobody = 65_534;

export const executable: Measurement = {
  name: 'executable',
  needs: ['setpriv'],
  run: (form) =>
    withCleanUp(async (later) => {
      const place = temporaryFolder();
      const file = join(place, 'tollgate');
      const build = Bun.spawnSync([
        process.execPath,
        join(root, 'scripts/build-binary.ts'),
        '--outfile',
        file,
      ]);
      if (build.exitCode !== 0) throw new Error(`${build.stderr}`);
      chmodSync(place, 0o755);
      const folder = temporaryFolder();
      chmodSync(folder, 0o777);
      const server = await startDatabase();
      later(() => server.stop());
      const sandbox = startSandbox({ keepEntries: 10 });
      later(() => sandbox.stop());
      const catalogFile = join(folder, 'catalog.yaml');
      writeFileSync(catalogFile, chatCatalog(sandbox.url), { mode: 0o644 });
      const environment = {
        DATABASE_URL: server.url('gateway'),
        TOLLGATE_CATALOG: catalogFile,
        TOLLGATE_DATA: join(folder, 'data'),
        MAIN_KEY: 'provider-key',
        HOME: folder,
      };
      const asNobody =
        process.getuid?.() === 0
          ? ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups']
          : [];
      const startedAtMs = performance.now();
      const launched = launchGateway(environment, { command: [...asNobody, file, 'serve'], cwd: folder });
      const gateway = await launched.listening;
      later(() => gateway.stop());
      const readyMs = performance.now() - startedAtMs;
      const account = await tollgateJson<{ id: string }>(
        ['account', 'create', '--name', 'Test', '--credit', '1000'],
        environment,
      );
      const { key } = await tollgateJson<{ key: string }>(
        ['key', 'create', '--account', account.id, '--rpm', '1000000'],
        environment,
      );
      const load = new SteadyLoad(targetOf({ gateway, key }), form.perSecond);
      later(() => load.stop());
      await Bun.sleep(form.seconds * 1_000);
      const megabytes = Math.round(statSync(file).size / 1_000_000);
      return [
        {
          what: 'the executable, as a user who owns nothing but its data folder',
          load: await load.stop(),
          seen: `${megabytes} MB; listening ${(readyMs / 1000).toFixed(1)} s after its first start on an empty database`,
          isSound: await isSound(environment),
        },
      ];
    }),
};
