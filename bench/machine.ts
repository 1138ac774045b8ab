/** What a figure depends on besides the program. */
import { cpus, type as systemName, totalmem } from 'node:os';
import type { SQL } from 'bun';

export async function describeMachine(sql: SQL): Promise<string[]> {
  const [facts] = await sql<[{ version: string; fsync: string; synchronous_commit: string }]>`
    select current_setting('server_version') as version, current_setting('fsync') as fsync,
           current_setting('synchronous_commit') as synchronous_commit`;
  const processors = cpus();
  return [
    `${processors.length} cores, ${processors[0]?.model.trim() ?? 'unknown processor'}, ${Math.round(totalmem() / 2 ** 30)} GB memory`,
    `${systemName()} ${process.arch}, Bun ${Bun.version}, PostgreSQL ${facts.version} (embedded, fsync ${facts.fsync}, synchronous_commit ${facts.synchronous_commit})`,
  ];
}
