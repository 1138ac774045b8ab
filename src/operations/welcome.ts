import type { Demo, DemoSignIn } from '../demo.ts';

/** What a person sees after `npm start`, on standard output. */
export function showWelcome(origin: string, demo: Demo | null): void {
  const { key = null, signIn = null } = demo ?? {};
  const lines = ['', `Tollgate is running at ${origin}`, `Dashboard: ${origin}`];
  if (signIn !== null) lines.push(...describeSignIn(signIn));
  if (key !== null)
    lines.push(
      '',
      'List the models, with the key of the demo account:',
      '',
      `  curl ${origin}/v1/models -H "Authorization: Bearer ${key}"`,
    );
  process.stdout.write(`${lines.join('\n')}\n\n`);
}

function describeSignIn({ email, password }: DemoSignIn): string[] {
  if (password === null)
    return [`  Sign in as ${email}. For a new password: npx tollgate user reset-link ${email}`];
  return [`  E-mail:   ${email}`, `  Password: ${password}   (shown this once)`];
}
