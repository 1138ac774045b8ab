import type { Demo } from '../demo.ts';

/** What a person sees after `npm start`. Goes to standard output, for people; logs are for programs. */
export function showWelcome(origin: string, demo: Demo | null): void {
  process.stdout.write(`${welcome(origin, demo)}\n`);
}

function welcome(origin: string, demo: Demo | null): string {
  const lines = [
    '',
    `Tollgate is running at ${origin}`,
    `Dashboard: ${origin} (a start page for now; accounts and keys are made with npx tollgate)`,
    '',
  ];
  if (demo)
    lines.push(
      'List the models, with the key of the demo account:',
      '',
      `  curl ${origin}/v1/models -H "Authorization: Bearer ${demo.key}"`,
      '',
    );
  return lines.join('\n');
}
