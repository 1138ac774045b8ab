/** One gateway on its own PostgreSQL, which flushes to disk, under a steady load while something happens to it. */
import { type Deployment, deploy } from '../../tests/operations/support/deployment.ts';
import { type PostgresServer, startPostgres } from '../../tests/operations/support/postgres.ts';
import { removeTemporaryFolders, tollgate } from '../../tests/support/gateway.ts';
import { SteadyLoad, type Target } from './load.ts';
import type { Form, Row } from './measurement.ts';

export const durable = ['fsync = on', 'synchronous_commit = on'];

export async function startDatabase(settings: readonly string[] = []): Promise<PostgresServer> {
  const server = await startPostgres(18, [...durable, ...settings]);
  await server.run('create database gateway');
  return server;
}

/** Everything is stopped at the end, in reverse order of its start. */
export async function withCleanUp<Result>(
  work: (later: (close: () => unknown) => void) => Promise<Result>,
): Promise<Result> {
  const closers: (() => unknown)[] = [];
  try {
    return await work((close) => closers.push(close));
  } finally {
    for (const close of closers.reverse()) {
      try {
        await close();
      } catch (error) {
        console.error(error);
      }
    }
    removeTemporaryFolders();
  }
}

export const targetOf = ({ gateway, key }: Pick<Deployment, 'gateway' | 'key'>): Target => ({
  origin: gateway.origin,
  key,
  model: 'full',
});

/** The second and the last third of the load each begin with an event; `seen` is what was observed, in words. */
export async function underLoad(
  what: string,
  deployment: Deployment,
  form: Form,
  happens: Readonly<{ second: () => Promise<void>; last: () => Promise<void>; seen?: () => string }>,
): Promise<Row> {
  const thirdMs = (form.seconds * 1_000) / 3;
  const load = new SteadyLoad(targetOf(deployment), form.perSecond);
  try {
    await Bun.sleep(thirdMs);
    await happens.second();
    await Bun.sleep(thirdMs);
    await happens.last();
    await Bun.sleep(thirdMs);
  } finally {
    await load.stop();
  }
  // Stopped already: this is what it saw.
  return {
    what,
    load: await load.stop(),
    seen: happens.seen?.() ?? '',
    isSound: await isSound(deployment.environment),
  };
}

export async function isSound(environment: Readonly<Record<string, string>>): Promise<boolean> {
  return (await tollgate(['ledger', 'audit', '--full'], environment)).exitCode === 0;
}

export { type Deployment, deploy };
