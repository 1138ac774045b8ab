/** A relay to the database that can withhold what it is sent, and deliver it when nobody expects it. */
import { connect, createServer, type Socket } from 'node:net';

type Link = { client: Socket; upstream: Socket; kept: Buffer[]; answeredBytes: number };

export async function startDelayingRelay(databaseUrl: string) {
  const target = new URL(databaseUrl);
  const path = target.searchParams.get('path');
  const links: Link[] = [];
  let isKeeping = false;
  const server = createServer((client) => {
    const upstream = path === null ? connect(Number(target.port || 5432), target.hostname) : connect(path);
    const link: Link = { client, upstream, kept: [], answeredBytes: 0 };
    links.push(link);
    for (const socket of [client, upstream]) socket.on('error', () => undefined);
    client.on('data', (bytes: Buffer) => (isKeeping ? link.kept.push(bytes) : upstream.write(bytes)));
    upstream.on('data', (bytes: Buffer) => {
      link.answeredBytes += bytes.length;
      client.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `postgres://${target.username}@127.0.0.1:${port}${target.pathname}`,
    keep: () => {
      isKeeping = true;
    },
    /** Delivers what was withheld, and everything that follows. */
    resume: () => {
      isKeeping = false;
      for (const { kept, upstream } of links) for (const bytes of kept.splice(0)) upstream.write(bytes);
    },
    /** How many connections there were. */
    count: () => links.length,
    /** Ends the connections of clients only. Later ones work. */
    breakOff: () => {
      isKeeping = false;
      for (const { client } of links) client.destroy();
    },
    /** Returns when the database has answered, or when it has ended the connection before. */
    deliver: async () => {
      for (const link of links) {
        if (link.kept.length === 0) continue;
        const before = link.answeredBytes;
        for (const bytes of link.kept.splice(0)) link.upstream.write(bytes);
        while (link.answeredBytes === before && !link.upstream.destroyed) await Bun.sleep(5);
      }
    },
    close: () => {
      for (const { client, upstream } of links) {
        client.destroy();
        upstream.destroy();
      }
      server.close();
    },
  };
}
