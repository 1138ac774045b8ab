/** What this machine gives the gateway: file descriptors, a folder to write to, and a port. */
import { accessSync, constants, existsSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import type { Config } from '../config.ts';
import { openSpool, reserveBytes } from '../ledger/spool.ts';
import { countDescriptors, readDescriptorLimit } from '../lib/descriptors.ts';
import { isGateway } from '../lib/gateway-address.ts';
import { newId } from '../lib/ids.ts';
import { localOriginOf } from '../lib/ip-address.ts';
import { freeBytesAt } from '../lib/reserved-file.ts';
import { codeOf, type Finding, good, problem, warning } from './finding.ts';

/** A stream takes two, one to the client and one to the provider. */
const descriptorsOfAStream = 2;
const fewDescriptors = 4_096;
const tooFewDescriptors = 256;

export function examineDescriptors(): Finding {
  const limit = findDescriptorLimit();
  if (limit === null) return good('descriptors', 'not known on this system');
  const inUse = countDescriptors();
  const text = `limit of ${limit}, enough for about ${Math.floor(limit / descriptorsOfAStream)} streams${inUse === null ? '' : ` (this command uses ${inUse})`}`;
  return judgeDescriptors(limit, text);
}

export function judgeDescriptors(limit: number, text: string): Finding {
  const remedy =
    'Raise it: ulimit -n 65536, LimitNOFILE=65536 for systemd, --ulimit nofile=65536 for a container.';
  if (limit < tooFewDescriptors) return problem('descriptors', text, remedy);
  return limit < fewDescriptors ? warning('descriptors', text, remedy) : good('descriptors', text);
}

/** Bun raises the soft limit to the hard one when it starts, here as in the gateway. */
function findDescriptorLimit(): number | null {
  const limit = readDescriptorLimit();
  if (limit !== null) return limit;
  const asked = Bun.spawnSync(['sh', '-c', 'ulimit -n']).stdout.toString().trim();
  return /^\d+$/.test(asked) ? Number(asked) : null;
}

export function examineDataFolder({ dataFolder }: Pick<Config, 'dataFolder'>): Finding[] {
  const remedy =
    'Make it writable for the user that runs the gateway, or set TOLLGATE_DATA to another folder.';
  if (!existsSync(dataFolder)) {
    const parent = firstExisting(dirname(dataFolder));
    return [
      isWritable(parent)
        ? judgeRoom(freeBytesAt(parent), `${dataFolder} does not exist yet and can be created`)
        : problem('data folder', `${dataFolder} does not exist, and ${parent} is not writable.`, remedy),
    ];
  }
  const probe = join(dataFolder, `.doctor-${newId()}`);
  try {
    // An empty file can be created on a full disk, too.
    writeFileSync(probe, 'x'.repeat(4_096), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    const code = codeOf(error);
    const text = `${dataFolder} cannot be written (${code}).`;
    return [problem('data folder', text, fullDiskCodes.has(code) ? roomRemedy : remedy)];
  } finally {
    if (existsSync(probe)) rmSync(probe);
  }
  return [judgeRoom(freeBytesAt(dataFolder), `${dataFolder} is writable`), examineSpool(dataFolder)];
}

const fullDiskCodes: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);
const roomRemedy = 'Free some space: usage is kept there while the database is away.';
/** The same as in the alert. */
const littleRoom = 64 * 1024 * 1024;

/** Usage that the database does not take is written to this disk. */
export function judgeRoom(freeBytes: number | null, text: string): Finding {
  if (freeBytes === null) return good('data folder', text);
  const withRoom = `${text}, ${Math.floor(freeBytes / 1024 ** 2)} MB free`;
  if (freeBytes < reserveBytes) return problem('data folder', withRoom, roomRemedy);
  return freeBytes < littleRoom
    ? warning('data folder', withRoom, roomRemedy)
    : good('data folder', withRoom);
}

function firstExisting(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : firstExisting(dirname(folder));
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Only reads: what a running gateway has in its own file is its own business. */
function examineSpool(dataFolder: string): Finding {
  try {
    const { settlements, malformedCount } = openSpool(dataFolder, process.pid, newId()).leftBehind();
    if (malformedCount > 0)
      return warning(
        'spool',
        `${malformedCount} lines in ${join(dataFolder, 'spool')} cannot be read.`,
        'The next gateway that starts here moves them to malformed.txt. Compare them with the ledger by hand.',
      );
    if (settlements.length > 0)
      return warning(
        'spool',
        `${settlements.length} settlements of a dead gateway are waiting in ${join(dataFolder, 'spool')}.`,
        'Start a gateway with this data folder: it settles them before anything else.',
      );
    return good('spool', 'nothing is waiting to be settled');
  } catch (error) {
    return problem(
      'spool',
      `${join(dataFolder, 'spool')} cannot be read (${codeOf(error)}).`,
      'Make it readable for the user that runs the gateway.',
    );
  }
}

/** `portsOfDatabase` are those of the gateways on this machine that use the same database; null when they are not known. */
export async function examinePort(
  config: Pick<Config, 'host' | 'port'>,
  portsOfDatabase: ReadonlySet<number> | null,
  patienceMs: number,
): Promise<Finding> {
  const { host, port } = config;
  if (port === 0) return good('port', 'any free one (PORT=0)');
  const code = await tryToListen(host, port);
  if (code === null) return good('port', `${port} on ${host} is free`);
  if (code === 'EADDRINUSE') {
    const isInUseByGateway = await isGateway(localOriginOf(config), patienceMs);
    if (isInUseByGateway && (portsOfDatabase?.has(port) ?? true))
      return good('port', `${port} on ${host} is in use by a running gateway`);
    const user = isInUseByGateway ? 'a gateway with another database' : 'another program';
    // The gateway may have been started with another PORT.
    const [other] = portsOfDatabase ?? [];
    if (other !== undefined && (await isGateway(localOriginOf({ host, port: other }), patienceMs)))
      return good('port', `${other} on ${host} is in use by a running gateway, and ${port} by ${user}`);
    return problem(
      'port',
      `${port} on ${host} is in use by ${user}.`,
      `Set PORT to a free port, for example PORT=${port + 1}.`,
    );
  }
  return problem('port', `Cannot listen on ${host} port ${port} (${code}).`, 'Check HOST and PORT.');
}

/** The code of the failure; null when the port is free. */
function tryToListen(host: string, port: number): Promise<string | null> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', (error) => resolve(codeOf(error)));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}
