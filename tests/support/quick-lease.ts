import { join } from 'node:path';
import { defaultTimings, type LeaseTimings } from '../../src/nodes/heartbeat.ts';
import { bundled, type Environment, type Gateway, launchGateway } from './gateway.ts';

/** Short enough to wait for, and long enough for a machine that is busy with other tests. */
export const quickTimings: LeaseTimings = {
  ...defaultTimings,
  leaseMs: 2_500,
  beatMs: 100,
};

/** The command that starts a gateway with them, with these scripts loaded before it. */
export function quickGateway(...preloads: readonly string[]): string[] {
  const script = (name: string) => join(import.meta.dir, name);
  // A preloaded script may change modules, of which a bundle has its own copies.
  const program = preloads.length === 0 ? bundled('quick-gateway') : null;
  if (program !== null) return program;
  return [
    process.execPath,
    ...preloads.flatMap((name) => ['--preload', script(name)]),
    script('quick-gateway.ts'),
  ];
}

export function startQuickGateway(environment: Environment): Promise<Gateway> {
  return launchGateway(environment, { command: quickGateway() }).listening;
}
