import type { Demo } from '../demo.ts';

/** What a person sees after `npm start`. Goes to standard output, for people; logs are for programs. */
export function showWelcome(origin: string, demo: Demo | null): void {
  process.stdout.write(`${welcome(origin, demo)}\n`);
}

export function welcome(origin: string, demo: Demo | null): string {
  const lines = ['', `Tollgate is running. Dashboard: ${origin}`, ''];
  if (demo?.signIn)
    lines.push(`Sign in as ${demo.signIn.email} with the password ${demo.signIn.password} (shown once).`, '');
  if (demo)
    lines.push(
      'List the models:',
      '',
      `  curl ${origin}/v1/models -H "Authorization: Bearer ${demo.key}"`,
      '',
    );
  return lines.join('\n');
}
