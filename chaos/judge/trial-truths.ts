/** What must be true of frozen gateways, of those whose clock jumped, and of honest clients alongside hostile ones. */
import type { Seen } from '../trials/client-call.ts';
import { type ClockJump, isLarge } from '../trials/clock-jumps.ts';
import type { Freeze } from '../trials/freezes.ts';
import type { Bystanders } from '../trials/honest-clients.ts';
import type { Truth } from './truth.ts';

export function judgeFreezes(freezes: readonly Freeze[]): Truth {
  return {
    says: 'what a frozen gateway had open was closed by the other one',
    checked: freezes.flatMap(({ open }) => open).length,
    wrong: freezes
      .filter(({ leftOpen }) => leftOpen > 0)
      .map(({ node, leftOpen }) => `${leftOpen} of node ${node} stayed open`),
    mayBeUntested: freezes.length === 0,
  };
}

export function judgeJumps(jumps: readonly ClockJump[]): Truth[] {
  const describe = ({ node, shiftMs, said, during, after }: ClockJump) =>
    `node ${node}, off by ${shiftMs} ms, said ${said ?? 'nothing'}, answered ${[...during, ...after].map(({ outcome, code }) => code ?? outcome).join(', ')}`;
  const isServed = (lines: readonly Seen[]) => lines.every(({ outcome }) => outcome === 'success');
  const large = jumps.filter(isLarge);
  const small = jumps.filter((jump) => !isLarge(jump));
  return [
    {
      says: 'a gateway whose clock is off by more than a minute admits nothing, says so, and recovers',
      checked: large.length,
      wrong: large
        .filter(
          ({ said, during, after }) =>
            !said?.startsWith('503 off by') ||
            during.some(({ code }) => code !== 'server_not_configured') ||
            !isServed(after),
        )
        .map(describe),
      mayBeUntested: large.length === 0,
    },
    {
      says: 'a clock that is off by less changes nothing',
      checked: small.length,
      wrong: small
        .filter(({ said, during, after }) => said !== null || !isServed(during) || !isServed(after))
        .map(describe),
      mayBeUntested: small.length === 0,
    },
  ];
}

export function judgeBystanders({ honest }: Bystanders): Truth {
  const lines = Object.values(honest).flat();
  return {
    says: 'every request of an honest client alongside hostile ones succeeded',
    checked: lines.length,
    wrong: lines
      .filter(({ outcome }) => outcome !== 'success')
      .map(({ token, outcome, status, code }) => `${token} saw ${outcome} ${status ?? ''} ${code ?? ''}`),
    mayBeUntested: lines.length === 0,
  };
}
