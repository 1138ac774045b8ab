/** Looks at everything that a gateway needs, and changes nothing. */
import type { Config } from '../config.ts';
import { examineDatabase } from './database.ts';
import { type Finding, problem } from './finding.ts';
import { examineDataFolder, examineDescriptors, examinePort } from './machine.ts';
import { examineMail } from './mail.ts';
import { examinePayments } from './payments.ts';
import { examineCatalog } from './providers.ts';
import { examineSecret } from './secret.ts';
import { examineSignUp } from './sign-up.ts';

const defaultPatienceMs = 5_000;

type Options = Readonly<{
  /** Calls no provider, no mail server and no payment provider. */
  isOffline: boolean;
  patienceMs?: number;
  /** Why the secret was not read. */
  secretProblem?: string | null;
}>;

export async function examine(
  config: Config,
  { isOffline, patienceMs = defaultPatienceMs, secretProblem = null }: Options,
): Promise<Finding[]> {
  const [{ findings, localPorts }, catalog, mail, payments] = await Promise.all([
    examineDatabase(config, patienceMs),
    examineCatalog(config, isOffline, patienceMs),
    isOffline ? null : examineMail(config.mail, patienceMs),
    isOffline ? null : examinePayments(config.payments, patienceMs),
  ]);
  return [
    // A secret that was not read cannot be compared with those of the gateways.
    ...findings.filter(({ about }) => about !== 'secret' || secretProblem === null),
    secretProblem === null ? examineSecret(config) : problem('secret', secretProblem, null),
    examineDescriptors(),
    ...examineDataFolder(config),
    await examinePort(config, localPorts, patienceMs),
    ...catalog,
    ...(mail === null ? [] : [mail]),
    ...(payments === null ? [] : [payments]),
    ...[examineSignUp(config)].filter((finding) => finding !== null),
  ];
}
