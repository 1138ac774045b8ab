import type { Demo, DemoSignIn } from '../demo.ts';

/** What a person sees after `npm start`. Goes to standard output, for people; logs are for programs. */
export function showWelcome(origin: string, demo: Demo | null): void {
  process.stdout.write(`${welcome(origin, demo)}\n`);
}

function welcome(origin: string, demo: Demo | null): string {
  const { key = null, signIn = null } = demo ?? {};
  const lines = ['', `Tollgate is running at ${origin}`, `Dashboard: ${origin}`];
  if (signIn !== null) lines.push(...waysIn(signIn));
  if (key !== null)
    lines.push(
      '',
      'List the models, with the key of the demo account:',
      '',
      `  curl ${origin}/v1/models -H "Authorization: Bearer ${key}"`,
    );
  return [...lines, ''].join('\n');
}

function waysIn({ email, password }: DemoSignIn): string[] {
  if (password === null)
    return [`  Sign in as ${email}. For a new password: npx tollgate user reset-link ${email}`];
  return [`  E-mail:   ${email}`, `  Password: ${password}   (shown this once)`];
}
