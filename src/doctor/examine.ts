/** Looks at everything that a gateway needs, and changes nothing. */
import type { Config } from '../config.ts';
import { examineDatabase } from './database.ts';
import type { Finding } from './finding.ts';
import { examineDataFolder, examineDescriptors, examinePort } from './machine.ts';
import { examineMail } from './mail.ts';
import { examineCatalog } from './providers.ts';
import { examineSecret } from './secret.ts';

const defaultPatienceMs = 5_000;

type Options = Readonly<{
  /** Calls no provider and no mail server. */
  isOffline: boolean;
  patienceMs?: number;
}>;

export async function examine(
  config: Config,
  { isOffline, patienceMs = defaultPatienceMs }: Options,
): Promise<Finding[]> {
  const [database, port, catalog, mail] = await Promise.all([
    examineDatabase(config, patienceMs),
    examinePort(config, patienceMs),
    examineCatalog(config, isOffline, patienceMs),
    isOffline ? null : examineMail(config.mail, patienceMs),
  ]);
  return [
    ...database,
    examineSecret(config),
    examineDescriptors(),
    ...examineDataFolder(config),
    port,
    ...catalog,
    ...(mail === null ? [] : [mail]),
  ];
}
