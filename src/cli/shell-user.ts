import { hostname } from 'node:os';
import type { ShellActor } from '../audit-log/audit-log.ts';
import type { Config } from '../config.ts';

/** Who runs this command, for the audit log. */
export function shellActor(config: Pick<Config, 'sudoUser'>): ShellActor {
  return { door: 'cli', shellUser: shellUserOf(config) };
}

/** Who runs this command, as the audit log names them: the user and host, and who called sudo. */
export function shellUserOf({ sudoUser }: Pick<Config, 'sudoUser'>): string {
  const user = `${userName() ?? `uid ${process.getuid?.() ?? 'unknown'}`}@${hostname()}`;
  return sudoUser === null ? user : `${user} (sudo: ${sudoUser})`;
}

/**
 * Bun's userInfo() reads the variable USER, which services and containers often do not set, so the system is asked. Null in
 * a container whose user has only a number, or that has no such command.
 */
function userName(): string | null {
  try {
    const { success, stdout } = Bun.spawnSync(['id', '-un'], { stderr: 'ignore' });
    const name = stdout.toString().trim();
    return success && name !== '' ? name : null;
  } catch {
    return null;
  }
}
