import type { SQL } from 'bun';
import type { OpenGeneration } from './generation.ts';

/** Records the attempts of an open Generation before the next one begins, so that a crash cannot hide it. */
export async function noteAttempts(sql: SQL, { facts, provider, attempts }: OpenGeneration): Promise<void> {
  const noted = await sql`
    update open_generations set provider = ${provider}, attempts = ${JSON.stringify(attempts)}::text::jsonb
    where id = ${facts.id} returning id`;
  if (noted.length === 0) throw new Error('The Generation is no longer open.');
}
