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
  const [{ findings, localPorts }, catalog, mail] = await Promise.all([
    examineDatabase(config, patienceMs),
    examineCatalog(config, isOffline, patienceMs),
    isOffline ? null : examineMail(config.mail, patienceMs),
  ]);
  return [
    ...findings,
    examineSecret(config),
    examineDescriptors(),
    ...examineDataFolder(config),
    await examinePort(config, localPorts, patienceMs),
    ...catalog,
    ...(mail === null ? [] : [mail]),
  ];
}
