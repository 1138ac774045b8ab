import { hostname, userInfo } from 'node:os';
import type { Config } from '../config.ts';

/** Who runs this command, as the operators' log names them: the user and host, and who called sudo. */
export function shellUserOf({ sudoUser }: Pick<Config, 'sudoUser'>): string {
  const user = `${userName()}@${hostname()}`;
  return sudoUser === null ? user : `${user} (sudo: ${sudoUser})`;
}

/** In a container the user may have a number only. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
