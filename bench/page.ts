/** docs/bench.md: how to run the bench and read its tables, then what the last recorded runs found. */
import { crowdConnections, lockedConnections, roundTripMs } from './deployment-scenarios.ts';
import {
  contentChunks,
  defaultRate,
  eventsPerStream,
  lateByMs,
  pacedEveryMs,
  peerModels,
} from './scenarios.ts';
import { defaultUpstreamPort } from './upstream-port.ts';

const modelNames = new Intl.ListFormat('en-GB').format(peerModels.map((model) => `\`${model}\``));

const titles = { run: '## Last recorded run', curves: '## Curves', deployments: '## Deployments' } as const;
type Section = keyof typeof titles;

const introduction = `# Benchmark

\`npm run bench\` produces the table below in one run of about six minutes, on the loopback interface only. \`bun
bench/profile.ts\` shows where the gateway's time goes, \`bun bench/hostile-json.ts\` compares the cost of deliberately
expensive bodies with that of ordinary ones of the same size, and \`bun bench/locked-account.ts\` measures what other
customers get done while one account is locked in the database. \`bun bench/exports.ts\` measures [exports](#exports), and \`bun
bench/dashboard.ts\` the [page of requests](#the-page-of-requests).

| option | |
|---|---|
| \`--quick\` | takes about three minutes and is less precise |
| \`--write\` | writes the tables and plots into this page |
| \`--rate 500\` | the rate at which requests arrive in the comparison at equal rates |
| \`--streams 10000\` | how many streams are open while memory is measured, instead of 1,000; needs \`ulimit -n 20200\` (9900 needs 20000) |
| \`--before FOLDER\` | the gateway of another checkout, with its dependencies installed, as one more subject: what a change costs or gains |
| \`--deployments\` | [gateways as they are deployed](#gateways-as-they-are-deployed) instead of the table, with \`--before FOLDER\` of both versions |
| \`--rounds 8\` | more rounds than usual |
| \`--against URL\` | [another gateway](#another-gateway) as one more subject |
| \`--curves\` | [curves](#curves-over-connections-accounts-and-generations) instead of the table |
| \`--compare workers\`, \`--compare metrics\` | the gateway with two settings instead of the table |

- Every subject, the upstream and the load generator run in separate processes. The upstream and the load generator use
  raw sockets and prepared bytes, so that they do not dominate the measurement. The report states what the load generator
  itself can do, and how much of a core it took.
- The bare proxy (\`bench/bare-proxy.ts\`) is the minimum that can be done on Bun: parse, forward, parse, respond; a
  stream is passed on as it is. The gateway is \`tollgate serve\` as shipped, with its embedded PostgreSQL, with a hold
  before and a settlement after each request.
- Before anything except memory is measured, the bare proxy and the gateway serve at least 200,000 requests (30,000 with
  \`--quick\`) and 1,000 streams each, and continue until a second of them costs no less than the seconds before: until then
  the JIT takes more time than the requests. After two minutes, a subject is measured even if it is still getting cheaper.
- Subjects take turns, round by round; figures are medians over the rounds, ratios and differences are medians over pairs
  of the same round.
- *CPU µs* is the time of the subject's own process per request, chunk or pair, as counted by the operating system, and
  *PostgreSQL µs* that of its database. They exclude waiting, so they say more than the rate per second: all processes
  share the same cores.
- Most rows are saturated: each connection sends the next request when the response has arrived, so every subject gets as
  much load as it can take. *${defaultRate} arriving per second* is the comparison at equal rates: requests arrive at that rate on
  64 connections, whatever the subject does, and a latency includes waiting for a free connection. The ledger's
  batches are small at this rate, so a request costs more than under full load.
- p50 and p99 are latencies of the complete response for JSON, of the first byte for streams, of a pair for the ledger.
- A stream has ${contentChunks} chunks of content and ${eventsPerStream.chat - contentChunks} more events, ${eventsPerStream.messages - contentChunks} with Messages and ${eventsPerStream.responses - contentChunks} with Responses. Unpaced, the upstream writes
  the next one in the next turn of its event loop, and a slower subject gets several in one read; ${pacedEveryMs} ms apart, each arrives
  alone.
- *Messages* and *Responses* streams go to an upstream of the same format, so the gateway passes their events on.
- Answers *after ${lateByMs} ms* come as late as a real model's, so that the gateway has time to do things meanwhile. On one
  connection, the upstream's own time, from when it had the request until it began to answer, is taken off each latency,
  and *upstream called* is the time until it had the request.
- Memory is measured first, after a short warm-up: resident memory with all streams open and dripping, compared with the
  process before they were opened. Its target is judged by a run with \`--streams\` of at least 9,000, scaled up to 10,000.
- The targets were set on a machine on which the bare proxy takes 27 µs for a JSON request at 64 connections. On a slower
  one, those that are not ratios are out of reach: compare what the bare proxy takes on it.
- Any status other than 200, an error event, a stream without its end or with the wrong number of events is an error. A run
  with an error is void, as is one whose number of charges differs from the number of completed requests.
- \`--compare\` measures its two variants in turn, in reverse order every other round, and prints the median and the
  quartiles of the differences between the two samples of a round.

## Another gateway

\`\`\`sh
npm run bench -- --against http://127.0.0.1:9999 --key KEY --model MODEL
\`\`\`

measures a gateway that is already running on this machine in the same run, as the subject *peer*:

1. Configure a model in it in the OpenAI format, with the base URL \`http://127.0.0.1:${defaultUpstreamPort}/v1\` and any API key, and start
   it. The upstream of the bench listens there while it runs; \`--upstream-port N\` chooses another port.
2. Give the bench its URL (a path before \`/v1/chat/completions\` may be part of it), its key, and its name for that
   model. Without \`--model\` the models are called ${modelNames}.
   \`--header 'name: value'\`, which may be repeated, adds any other header that it needs.

The bench sends a request and waits up to a minute for the upstream's answer to come back before it begins. CPU and memory
are those of the process that listens on the port and of all that it has started, found through /proc, or a dash if
none is found; processes called \`postgres\` among them count as *PostgreSQL µs*. A database that runs elsewhere is not
counted, nor is one that has detached itself, as Tollgate's own does. Behind Docker's port forwarding only the forwarder
would be found: use \`--network host\`. The peer may merge the events of a stream or add some; its chunks are counted as the
upstream sends them.

## Curves over connections, accounts and Generations

\`npm run bench -- --curves\` measures JSON requests over 1 to 512 connections, over 1 to 1,000 accounts whose keys are used
in turn, and over the number of Generations stored, from 10 thousand to \`--max-generations\` (default one million; ten
million take about 14 GB of disk). Stored Generations are inserted in SQL with all the rows that a real one has, all of them
in the current month, then summed by day, vacuumed and analyzed, so that no maintenance falls into the measurement; the
audit at the end covers them. Points over connections and accounts take turns, round by round. The number of
stored Generations only grows, so the CPU of the bare proxy shows how the machine itself changed meanwhile.

## Gateways as they are deployed

\`npm run bench -- --deployments --before FOLDER\` starts three gateways on one PostgreSQL, and a fourth that reaches it over a
network with a round trip of ${roundTripMs} ms, of each of the two versions; without \`--before\`, of this one alone. Each version has a
PostgreSQL of its own, and its accounts are created by its own code. After a warm-up there are 8 rounds of about a minute;
\`--quick\` makes it 2, and \`--rounds\` any other number.

- *Shared accounts* are drawn at random for each request, on 64 connections spread over the three gateways. *CPU µs* is the
  sum of all three. *One account* is the same with a single one.
- *Neighbours* are 16 accounts with a connection each, on one gateway. Meanwhile, ${crowdConnections} connections use a busy account, half of
  them on that gateway and half on another. Two busy accounts, one on each gateway, are the control: they load the
  machine, too, but share nothing. How the busy accounts themselves are served is in rows of their own.
- PostgreSQL *near* is on a Unix socket, *${roundTripMs} ms away* behind \`bench/delay-proxy.ts\`, which delays what is sent in either
  direction by half of that, however much it is. On a busy machine it takes a few tenths of a millisecond longer. The stream
  after ${lateByMs} ms is unpaced, so that more of them fit into a round. The time of the requests that arrive includes that of the last
  response, so their rate is lower than the one at which they arrive.
- *One is locked*: another session keeps the row of an account locked while ${lockedConnections} connections wait for it, and 64 connections use
  the shared accounts, all on one gateway.
- Usage is not added up and tables are not vacuumed while anything is measured; the latter happens at the start of each round.
- Versions take turns in every scenario of every round, in reverse order every other round. *÷ gateway before* and *within a
  round* are medians and ranges of ratios that were each made in one round.

## Exports

\`bun bench/exports.ts\` fills a million Generations of 20 accounts, and exports all of them over the admin API while 200 requests
arrive every second. It prints the median and the 99th percentile of their latency with and without the export, in windows of ten
seconds, the memory of the gateway over time, and whether every Generation is in the export, once and in order. It takes about six
minutes and ends by itself; it fails if a line is missing or a request failed. \`bun bench/exports.ts 100000 200\` is a tenth of it.

## The page of requests

\`bun bench/dashboard.ts\` fills a million requests of one account with 500 keys over 30 days, and 50,000 refusals, adds them up, and
asks for what the page of requests shows: the list, the histogram, groups and problems, each 40 times for a day, a week and 30 days,
with filters that match much, little and nothing, as a customer and as an operator. It prints the 95th percentiles of the time
to the whole answer. \`bun bench/dashboard.ts 100000\` has a tenth of the requests.
`;

/** A section that is not given stays as it is on the page, if it is there. */
export function page(existing: string, sections: Readonly<Partial<Record<Section, string>>>): string {
  const texts = (Object.keys(titles) as Section[]).flatMap((section) => {
    const text = sections[section] ?? textOf(existing, section);
    return text === null ? [] : [`${titles[section]}\n\n${text}\n`];
  });
  return [introduction, ...texts].join('\n');
}

function textOf(existing: string, section: Section): string | null {
  const start = existing.indexOf(`\n${titles[section]}\n`);
  if (start < 0) return null;
  const text = existing.slice(start + titles[section].length + 2);
  const end = text.search(/^## /m);
  return (end < 0 ? text : text.slice(0, end)).trim();
}
