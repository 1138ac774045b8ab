/** What clients notice when something is wrong with the database, or in front of it. */
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { startPgbouncer } from '../../tests/operations/support/pgbouncer.ts';
import { startPostgres, startReplica } from '../../tests/operations/support/postgres.ts';
import { temporaryFolder } from '../../tests/support/gateway.ts';
import { answers } from '../world/database.ts';
import { freePort } from '../world/program.ts';
import { until } from '../world/until.ts';
import { deploy, durable, startDatabase, underLoad, withCleanUp } from './deployment.ts';
import type { Measurement } from './measurement.ts';

export const pgbouncer: Measurement = {
  name: 'pgbouncer',
  needs: ['pgbouncer'],
  run: (form) =>
    withCleanUp(async (later) => {
      const server = await startDatabase();
      later(() => server.stop());
      const bouncer = await startPgbouncer(server, freePort());
      later(bouncer.kill);
      const deployment = await deploy({
        DATABASE_URL: bouncer.url('gateway'),
        DATABASE_DIRECT_URL: server.url('gateway'),
      });
      later(deployment.close);
      return [
        await underLoad(
          'pgbouncer in transaction mode, killed and back after a third of the time',
          deployment,
          form,
          {
            second: bouncer.kill,
            last: bouncer.start,
          },
        ),
      ];
    }),
};

const pollMs = 200;

export const laggingReplica: Measurement = {
  name: 'replica',
  needs: [],
  run: (form) =>
    withCleanUp(async (later) => {
      const primary = await startDatabase();
      later(() => primary.stop());
      const replica = await startReplica(primary, 18);
      later(() => replica.stop());
      const deployment = await deploy({
        DATABASE_URL: primary.url('gateway'),
        DATABASE_READ_URL: replica.url('gateway'),
      });
      later(deployment.close);
      await until('the replica is in use', () =>
        deployment.gateway.output().includes('lists and reports come from the replica'),
      );
      // The load creates a Generation every few milliseconds, so the newest of the list shows how old the list is.
      let mostBehindMs = 0;
      let failedLists = 0;
      let isOver = false;
      const watching = (async () => {
        while (!isOver) {
          await Bun.sleep(pollMs);
          const page = await deployment
            .get<{ data?: { created_at: string }[] }>('/v1/generations?limit=1')
            .catch(() => null);
          const newest = page?.data?.[0]?.created_at;
          if (newest === undefined) failedLists += 1;
          else mostBehindMs = Math.max(mostBehindMs, Date.now() - Date.parse(newest));
        }
      })();
      const row = await underLoad(
        'a replica that stops replaying for a third of the time',
        deployment,
        form,
        {
          second: () => replica.run('select pg_wal_replay_pause()'),
          last: async () => {
            await replica.run('select pg_wal_replay_resume()');
            isOver = true;
            await watching;
          },
          seen: () =>
            `lists at most ${(mostBehindMs / 1000).toFixed(1)} s behind, ${failedLists} of them failed`,
        },
      );
      return [row];
    }),
};

export const connectionLimit: Measurement = {
  name: 'connections',
  needs: [],
  run: (form) =>
    withCleanUp(async (later) => {
      const server = await startDatabase(['max_connections = 30']);
      later(() => server.stop());
      await server.run('create role ordinary login', 'alter database gateway owner to ordinary');
      const url = server.url('gateway').replace('//tollgate@', '//ordinary@');
      const deployment = await deploy({ DATABASE_URL: url });
      later(deployment.close);
      const others: SQL[] = [];
      const leave = async () => {
        await Promise.all(others.splice(0).map((sql) => sql.close({ timeout: 0 })));
      };
      later(leave);
      let taken = 0;
      const row = await underLoad(
        'no connection left at the database for a third of the time',
        deployment,
        form,
        {
          second: async () => {
            for (;;) {
              const sql = new SQL(url, { max: 1, connectionTimeout: 5 });
              others.push(sql);
              try {
                await sql`select 1`;
              } catch {
                break;
              }
            }
            taken = others.length - 1;
          },
          last: leave,
          seen: () => `${taken} of 30 connections were taken by others`,
        },
      );
      return [row];
    }),
};

const diskMegabytes = 400;

export const fullDisk: Measurement = {
  name: 'disk',
  needs: ['mount'],
  run: (form) =>
    withCleanUp(async (later) => {
      const disk = join(temporaryFolder(), 'disk');
      mkdirSync(disk);
      mustRun('mount', '-t', 'tmpfs', '-o', `size=${diskMegabytes}m`, 'tmpfs', disk);
      later(() => mustRun('umount', disk));
      const server = await startPostgres(18, [...durable, 'wal_recycle = off'], null, disk);
      later(() => server.stop('immediate'));
      await server.run('create database gateway');
      const deployment = await deploy({ DATABASE_URL: server.url('gateway') });
      later(deployment.close);
      const filler = join(disk, 'filler');
      let freedAtMs = 0;
      let backAfterMs = 0;
      const row = await underLoad(
        'no space left for the database for a third of the time',
        deployment,
        form,
        {
          second: async () => {
            const { bavail, bsize } = statfsSync(disk);
            writeFileSync(filler, Buffer.alloc(bavail * bsize));
            // The WAL still has room in its last segment; this makes PostgreSQL need the next one now, not in an hour.
            await server.run('select pg_switch_wal()').catch(() => undefined);
          },
          last: async () => {
            rmSync(filler);
            freedAtMs = performance.now();
            // PostgreSQL ends when it cannot write its WAL. An operator, or a supervisor, starts it again.
            await until('the database is back', async () => {
              if (await answers(server.url('gateway'))) return true;
              try {
                server.start();
              } catch {
                // It runs, or is still recovering.
              }
              return false;
            });
            backAfterMs = performance.now() - freedAtMs;
          },
          seen: () => `database back ${(backAfterMs / 1000).toFixed(1)} s after there was space again`,
        },
      );
      return [row];
    }),
};

function mustRun(...command: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(command, { stdout: 'ignore', stderr: 'pipe' });
  if (exitCode !== 0) throw new Error(`${command.join(' ')} failed: ${stderr}`);
}
