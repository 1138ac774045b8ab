/** HAProxy and nginx with the configurations of deploy/, in which only addresses and paths are changed. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Subprocess } from 'bun';
import { freePort, statusOf } from '../world/program.ts';
import { until } from '../world/until.ts';
import { programNamed } from './measurement.ts';

const deploy = join(import.meta.dir, '../../deploy');

export type BalancerName = 'haproxy' | 'nginx';
export type BalancerProcess = Readonly<{ origin: string; stop: () => Promise<void> }>;

export async function startBalancer(
  name: BalancerName,
  ports: readonly number[],
  folder: string,
): Promise<BalancerProcess> {
  const port = freePort();
  const file = join(folder, `${name}.conf`);
  const log = join(folder, `${name}.log`);
  const program = programNamed(name);
  if (program === null) throw new Error(`${name} is not installed.`);
  writeFileSync(file, configurations[name](ports, port, folder));
  const words = name === 'haproxy' ? ['-f', file] : ['-c', file, '-e', log];
  const child: Subprocess = Bun.spawn([program, ...words], {
    stdin: 'ignore',
    stdout: Bun.file(log),
    stderr: Bun.file(`${log}.errors`),
  });
  const origin = `http://127.0.0.1:${port}`;
  await until(
    `${name} passes requests on: see ${log}`,
    async () => (await statusOf(`${origin}/readyz`)) === 200,
  );
  const stop = async () => {
    child.kill('SIGTERM');
    await child.exited;
  };
  return { origin, stop };
}

export const configurations = { haproxy: haproxyConfiguration, nginx: nginxConfiguration } as const;

/** The three addresses of the shipped files, in turn. */
function withGateways(text: string, ports: readonly number[]): string {
  return ports.reduce((changed, port, index) => {
    const address = `10.0.0.1${index + 1}:8080`;
    if (!changed.includes(address)) throw new Error(`The shipped configuration has no server at ${address}.`);
    return changed.replace(address, `127.0.0.1:${port}`);
  }, text);
}

function replaced(text: string, from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`The shipped configuration has no "${from}".`);
  return text.replace(from, to);
}

function haproxyConfiguration(ports: readonly number[], port: number): string {
  const text = withGateways(readFileSync(join(deploy, 'haproxy/haproxy.cfg'), 'utf8'), ports);
  return replaced(text, 'bind :80\n', `bind 127.0.0.1:${port}\n`);
}

/** The shipped file is a part of Debian's nginx.conf, so the rest of that is here. */
function nginxConfiguration(ports: readonly number[], port: number, folder: string): string {
  const text = withGateways(readFileSync(join(deploy, 'nginx/tollgate.conf'), 'utf8'), ports);
  const server = replaced(text, 'listen 80;', `listen 127.0.0.1:${port};`);
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(folder, `nginx-${name}`)};`)
    .join('\n');
  return `daemon off;
pid ${join(folder, 'nginx.pid')};
worker_processes 1;
events { worker_connections 4096; }
http {
access_log off;
${places}
${server}
}
`;
}
