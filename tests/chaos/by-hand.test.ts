/** Whether the judge of `npm run chaos` notices what is wrong with movements, limits and exports. */
import { describe, expect, test } from 'bun:test';
import type { Evidence } from '../../chaos/judge/evidence.ts';
import { judgeExports } from '../../chaos/judge/export-truths.ts';
import type { RecordedMovement } from '../../chaos/judge/ledger-log.ts';
import { judgeLimits } from '../../chaos/judge/limit-truths.ts';
import { judgeMovements } from '../../chaos/judge/movement-truths.ts';
import { isTrue } from '../../chaos/judge/report.ts';
import type { Truth } from '../../chaos/judge/truth.ts';
import { Random } from '../../chaos/random.ts';
import type { Exported } from '../../chaos/trials/exports.ts';
import type { AskedLimit } from '../../chaos/trials/limits.ts';
import type { AskedMovement } from '../../chaos/trials/movement-log.ts';
import { chooseMovement } from '../../chaos/trials/movements.ts';
import { nothingByHand, quietMoments } from './evidence.ts';

const broken = (truths: readonly Truth[]) => truths.filter((truth) => !isTrue(truth)).map(({ says }) => says);

describe('a movement', () => {
  const bookedAsAsked =
    'each movement that was answered as booked is in the ledger, as it was asked for and answered';
  const once = 'a movement that was sent or asked for several times is in the ledger once at most';
  const unasked = 'no movement is in the ledger that was not asked for, or was refused';
  const explained =
    'a movement is refused only because of its amount, its reference, or the request that it is about';

  const asked: AskedMovement = {
    kind: 'correction',
    accountId: 'a',
    requestId: null,
    entryNumber: null,
    amount: -5n,
    words: 'Chaos m1',
    reference: 'm1',
    door: 'api',
    sent: 1,
    answer: 'booked',
    code: null,
    entry: { accountId: 'a', number: 7, amount: -5n },
  };
  const entry: RecordedMovement = {
    accountId: 'a',
    number: 7,
    kind: 'correction',
    amount: -5n,
    requestId: null,
    entryNumber: null,
    words: 'Chaos m1',
    reference: 'm1',
  };
  const refused = { ...asked, answer: 'refused', entry: null } as const;
  const unknown = { ...asked, answer: 'unknown', entry: null } as const;

  function judged(movements: readonly AskedMovement[], entries: readonly RecordedMovement[]): string[] {
    const evidence = { movements, ledger: { movements: entries } } as unknown as Evidence;
    return broken(judgeMovements(evidence));
  }

  test('that was answered as booked is in the ledger', () => {
    expect(judged([asked], [entry])).toEqual([]);
    expect(judged([asked], [])).toEqual([bookedAsAsked]);
    expect(judged([{ ...asked, door: 'cli', entry: null }], [entry])).toEqual([]);
    expect(judged([{ ...asked, door: 'cli', entry: null }], [])).toEqual([bookedAsAsked]);
  });

  test('is there as it was asked for, and as it was answered', () => {
    for (const wrong of [
      { amount: -6n },
      { kind: 'credit' },
      { accountId: 'b' },
      { requestId: 'req_1' },
      { entryNumber: 3 },
    ])
      expect(judged([asked], [{ ...entry, ...wrong }])).toEqual([bookedAsAsked, unasked]);
    expect(judged([asked], [{ ...entry, number: 8 }])).toEqual([bookedAsAsked]);
    const rest = { ...asked, amount: null };
    expect(judged([rest], [entry])).toEqual([]);
    expect(judged([rest], [{ ...entry, amount: -6n }])).toEqual([bookedAsAsked]);
  });

  test('is there once, however often it was sent or asked for', () => {
    const again = { ...entry, number: 8 };
    expect(judged([asked], [entry, again])).toEqual([bookedAsAsked]);
    expect(judged([{ ...asked, sent: 2 }], [entry, again])).toEqual([bookedAsAsked, once]);
    expect(judged([asked, { ...asked, answer: 'repeated' }], [entry])).toEqual([]);
    expect(judged([asked, { ...asked, answer: 'repeated' }], [entry, again])).toEqual([bookedAsAsked, once]);
    expect(judged([{ ...unknown, sent: 9 }], [])).toEqual([]);
    expect(judged([{ ...unknown, sent: 9 }], [entry])).toEqual([]);
    expect(judged([{ ...unknown, sent: 9 }], [entry, again])).toEqual([once]);
    const nameless = { ...asked, reference: null, sent: 2 };
    const namelessEntry = { ...entry, reference: null };
    expect(judged([nameless], [namelessEntry])).toEqual([]);
    expect(judged([nameless], [namelessEntry, { ...namelessEntry, number: 8 }])).toContain(once);
  });

  test('is not there if it was refused, nor if nobody asked for it', () => {
    const tooLarge = { ...refused, code: 'amount_too_large' };
    expect(judged([tooLarge], [])).toEqual([]);
    expect(judged([tooLarge], [entry])).toEqual([unasked]);
    expect(judged([], [entry])).toEqual([unasked]);
    const other = { ...refused, amount: -6n, code: 'reference_in_use' };
    expect(judged([asked, other], [entry])).toEqual([]);
    expect(judged([asked, other], [entry, { ...entry, number: 8, amount: -6n }])).toEqual([once, unasked]);
  });

  test('is refused only for a reason that it has', () => {
    expect(judged([{ ...refused, code: 'nothing_left' }], [])).toEqual([]);
    expect(judged([{ ...refused, code: 'permission_denied' }], [])).toEqual([explained]);
    expect(judged([{ ...refused, code: null }], [])).toEqual([explained]);
  });

  test('is chosen among all kinds', () => {
    const accounts = {
      richAccount: 'r',
      poorAccount: 'p',
      cappedAccount: 'c',
      grantedAccount: 'g',
      toldAccount: 't',
    };
    const seen = [{ outcome: 'success', requestId: 'req_1' }] as never;
    const random = new Random(1);
    const chosen = Array.from({ length: 3_000 }, (_, number) =>
      chooseMovement(`m${number}`, { accounts, asked: [asked], seen }, random),
    ).filter((movement) => movement !== null);
    const kinds = new Set(
      chosen.map(({ kind, amount }) => `${kind} ${amount === null ? 'rest' : amount > 0n}`),
    );
    expect([...kinds].toSorted()).toEqual([
      'correction false',
      'correction rest',
      'correction true',
      'credit true',
      'refund rest',
      'refund true',
    ]);
    const same = chosen.filter(({ reference }) => reference === 'm1' && reference !== null);
    expect(new Set(same.map(({ amount }) => amount)).size).toBeGreaterThan(1);
  });
});

describe('a limit', () => {
  const spend = 'what was charged in the window of a limit of spend is what its meter says, and within it';
  const pace = 'no more requests were admitted in a minute than a limit allows';
  const lastSet = 'each limit is as it was last set, and none is there that nobody set';

  const meter = { limitId: 'l', endUser: null, amount: 100n, used: 90n, charged: 90n, unheld: 0n };
  const minute = { limitId: 'l', endUser: 'user 0', amount: 5n * 10n ** 12n, minute: '12:00', admitted: 5 };
  const set: AskedLimit = {
    action: 'create',
    door: 'api',
    sent: 1,
    id: 'l',
    amount: 5n,
    answer: 'done',
    code: null,
  };

  function judged(
    limits: Partial<Evidence['limits']>,
    askedLimits: readonly AskedLimit[] = [],
    watched: Partial<Evidence['watched']> = {},
  ): string[] {
    return broken(
      judgeLimits({
        limits: { ...nothingByHand.limits, ...limits },
        askedLimits,
        watched: { ...quietMoments, ...watched },
      } as unknown as Evidence),
    );
  }

  test('of spend has what the ledger charged, and no more than it allows', () => {
    expect(judged({ spend: [meter] })).toEqual([]);
    expect(judged({ spend: [{ ...meter, used: 89n }] })).toEqual([spend]);
    expect(judged({ spend: [{ ...meter, used: 101n, charged: 101n }] })).toEqual([spend]);
    // Only what no hold had reserved may be beyond it.
    expect(judged({ spend: [{ ...meter, used: 101n, charged: 101n, unheld: 1n }] })).toEqual([]);
    expect(judged({ spend: [{ ...meter, used: 102n, charged: 102n, unheld: 1n }] })).toEqual([spend]);
  });

  test('of pace admits no more in a minute than it allows', () => {
    expect(judged({ minutes: [minute] })).toEqual([]);
    expect(judged({ minutes: [minute, { ...minute, admitted: 6 }] })).toEqual([pace]);
  });

  test('is held for what is open, and never exceeded, at every look', () => {
    expect(judged({}, [], { unmatchedLimits: 1 })).toEqual([
      'at every look: what is held of each limit equals its open holds',
    ]);
    expect(judged({}, [], { exceededSpendLimits: 1 })).toEqual([
      'at every look: used plus held within each steady limit of spend',
    ]);
    expect(judged({}, [], { exceededConcurrency: 1 })).toEqual([
      'at every look: no more requests in progress than a steady limit allows',
    ]);
  });

  test('is as it was last set', () => {
    const inForce = new Map([['l', 5n]]);
    const update = { ...set, action: 'update', amount: 6n } as const;
    const removal = { ...set, action: 'remove', amount: null } as const;
    expect(judged({ inForce }, [set])).toEqual([]);
    expect(judged({}, [set])).toEqual([lastSet]);
    expect(judged({ inForce }, [set, update])).toEqual([lastSet]);
    expect(judged({ inForce }, [set, { ...update, answer: 'refused' }])).toEqual([]);
    expect(judged({ inForce }, [set, { ...update, answer: 'unknown' }])).toEqual([]);
    expect(judged({}, [set, removal])).toEqual([]);
    expect(judged({ inForce }, [set, removal])).toEqual([lastSet]);
  });

  test('can always be changed by whoever knows it', () => {
    const refusal = 'no change of a limit was refused, however often it was sent';
    const refused = { ...set, id: null, answer: 'refused', code: 'limit_exists', sent: 2 } as const;
    expect(judged({}, [refused])).toEqual([refusal]);
    const silent = { ...set, id: null, answer: 'unknown' } as const;
    expect(judged({}, [silent, refused])).toEqual([]);
    expect(judged({}, [{ ...refused, answer: 'unknown' }])).toEqual([refusal]);
  });

  test('is not there if nobody set it', () => {
    const inForce = new Map([['l', 5n]]);
    expect(judged({ inForce })).toEqual([lastSet]);
    expect(judged({ inForce, steadyIds: ['l'] })).toEqual([]);
    // Somebody may have: the answer was lost.
    expect(judged({ inForce }, [{ ...set, id: null, answer: 'unknown' }])).toEqual([]);
  });
});

describe('an export', () => {
  const all = 'every export had all lines of its range, and no others';
  const lines = [10, 20, 30].map((atMs) => ({ cursor: `a:${atMs}`, atMs, committedAtMs: atMs + 1 }));
  const exported: Exported = {
    name: 'entries',
    fromMs: 10,
    toMs: 30,
    startedAtMs: 40,
    sent: 3,
    goneOn: 2,
    isComplete: true,
    cursors: ['a:10', 'a:20'],
  };

  function judged(change: Partial<Exported>): string[] {
    const exportable = { ...nothingByHand.exportable, entries: lines };
    const evidence = { exports: [{ ...exported, ...change }], exportable } as unknown as Evidence;
    return broken(judgeExports(evidence));
  }

  test('has every line of its range once, and no other', () => {
    expect(judged({})).toEqual([]);
    expect(judged({ cursors: ['a:10'] })).toEqual([all]);
    expect(judged({ cursors: ['a:10', 'a:20', 'a:20'] })).toEqual(['no export had a line twice']);
    expect(judged({ cursors: ['a:10', 'a:20', 'a:30'] })).toEqual([all]);
    expect(judged({ cursors: ['a:10', 'a:20', 'b:20'] })).toEqual([all]);
    expect(judged({ name: 'usage' })).toEqual([all]);
  });

  test('may lack only what was committed after it began', () => {
    expect(judged({ cursors: ['a:10'], startedAtMs: 21 })).toEqual([]);
    expect(judged({ cursors: ['a:10'], startedAtMs: 22 })).toEqual([all]);
  });

  test('becomes complete', () => {
    expect(judged({ isComplete: false, cursors: ['a:10'] })).toEqual(['every export became complete']);
  });
});
