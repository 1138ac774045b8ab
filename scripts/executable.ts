/** Where the single executable starts: the command line, or the sandbox provider that a gateway runs alongside itself. */
import { environmentForManyRequests } from '../src/config.ts';

if (process.argv[2] === 'sandbox') {
  process.argv.splice(2, 1);
  await import('../sandbox/main.ts');
} else {
  const environment = process.argv[2] === 'serve' ? environmentForManyRequests() : null;
  // In the same process, so that signals still reach it. In a checkout, bin/tollgate does this.
  if (environment !== null)
    process.execve?.(process.execPath, [process.execPath, ...process.argv.slice(2)], environment);
  await import('../src/cli/main.ts');
}
