/** Looks at everything that a gateway needs, and changes nothing. */
import type { Config } from '../config.ts';
import { examineDatabase } from './database.ts';
import { type Finding, good, warning } from './finding.ts';
import { examineDataFolder, examineDescriptors, examinePort } from './machine.ts';
import { examineMail } from './mail.ts';
import { examineCatalog } from './providers.ts';

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
    examineDatabase(config),
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

function examineSecret({ authSecret, databaseUrl }: Config): Finding {
  if (authSecret !== null) return good('secret', 'AUTH_SECRET is set');
  if (databaseUrl === null) return good('secret', 'kept in the data folder');
  return warning(
    'secret',
    'AUTH_SECRET is not set: it is kept in the database, next to what it encrypts.',
    'Set AUTH_SECRET to the same value on every gateway. Make one with: openssl rand -base64 32',
  );
}
