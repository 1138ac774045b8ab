import type { Equivalent } from './entry.ts';

export const http: readonly Equivalent[] = [
  {
    file: 'src/json/body.ts',
    within: 'readJsonBody',
    changes: ['return bytes.byteLength ⟦< → <=⟧ largeBodyBytes'],
    reason: 'Both ways of parsing give the same result; a body of exactly this size may take either.',
  },
  {
    file: 'src/json/body.ts',
    within: 'readJsonBody',
    changes: [": await parseQueued(bytes, payer?.accountId ?? ⟦'' → 'mutant'⟧, request.signal);"],
    reason: 'Bodies without an account share one place in the rotation, whatever its name.',
  },
  {
    file: 'src/json/body.ts',
    within: 'parseQueued',
    changes: ['if (thrown instanceof ApiError ⟦|| → &&⟧ !signal.aborted) throw thrown;'],
    reason:
      'It differs only for a client that has left and sees no response, and for a full queue, which the budget for body bytes prevents.',
  },
  {
    file: 'src/json/body.ts',
    within: 'parseJsonBody',
    changes: ["const { keys, fault } = inspectTree(body, text.includes(⟦'\\\\u' → ''⟧));"],
    reason: 'A text without such escapes has no bad characters; this only spares the search for them.',
  },
  {
    file: 'src/json/body.ts',
    within: 'decodeInSteps',
    changes: ['for (let at = 0; at ⟦< → <=⟧ bytes.byteLength; at += decodedAtOnceBytes) {'],
    reason: 'The additional piece is empty.',
  },
  {
    file: 'src/json/body.ts',
    within: 'checkContentType',
    changes: ["if (⟦header === 'application/json' → false⟧) return;"],
    reason: 'The general check accepts this header too; this only spares the work.',
  },
  {
    file: 'src/json/body.ts',
    within: 'checkContentType',
    changes: [
      "const [type, ...parameters] = (header ?? ⟦'' → 'mutant'⟧).split(';').map((part) => part.trim().toLowerCase());",
    ],
    reason: 'Neither of them is application/json.',
  },
  {
    file: 'src/json/keys.ts',
    within: 'maxSteps',
    changes: ['const maxSteps = ⟦10_000 → 10001⟧;'],
    reason: 'How far it is worth looking is a matter of microseconds.',
  },
  {
    file: 'src/json/keys.ts',
    within: 'findDuplicateKey',
    changes: ['for (let at = 0, steps = 0; at ⟦< → <=⟧ text.length && steps < maxSteps; at++, steps++) {'],
    reason: 'Beyond the end there is no character that means anything.',
  },
  {
    file: 'src/json/keys.ts',
    within: 'findDuplicateKey',
    changes: [
      "frames.push(character === '{' ? { keys: new Set(), step: ⟦'' → 'mutant'⟧ } : { keys: null, step: 0 });",
    ],
    reason: 'The step is replaced by the first key, before anything can be found in the object.',
  },
  {
    file: 'src/json/list.ts',
    within: 'ListToFirstFault',
    changes: [
      "const ListToFirstFault = z.core.$constructor<z.core.$ZodArray>(⟦'ListToFirstFault' → ''⟧, (list, definition) => {",
    ],
    reason: 'The name of the class is for people who debug it.',
  },
  {
    file: 'src/json/list.ts',
    within: 'listOf',
    changes: [
      '...(⟦min > 0 → true⟧ ? [z.minLength(min, expected)] : []),',
      '...(min ⟦> → >=⟧ 0 ? [z.minLength(min, expected)] : []),',
    ],
    reason: 'Every list has at least no items, so the additional check always passes.',
  },
  {
    file: 'src/json/steps.ts',
    within: 'stepSize',
    changes: ['const stepSize = ⟦262_144 → 262145⟧;'],
    reason: 'How often others get their turn is a matter of milliseconds.',
  },
  {
    file: 'src/json/steps.ts',
    within: 'tokenCost',
    changes: ['const tokenCost = ⟦24 → 25⟧;'],
    reason: 'How often others get their turn is a matter of milliseconds.',
  },
  {
    file: 'src/json/steps.ts',
    within: 'StepReader',
    changes: ['#quote = -⟦1 → 2⟧;'],
    reason: 'Any position before the text means that no quote has been found yet.',
  },
  {
    file: 'src/json/steps.ts',
    within: 'StepReader.constructor',
    changes: ["this.#checksText = text.includes(⟦'\\\\u' → ''⟧);"],
    reason: 'A text without such escapes has no bad characters; this only spares the search for them.',
  },
  {
    file: 'src/json/steps.ts',
    within: 'StepReader.advance',
    changes: ['for (let tokens = 0; this.#at - start + tokens * tokenCost ⟦< → <=⟧ this.#step; tokens++) {'],
    reason: 'A step may be longer by one token.',
  },
  {
    file: 'src/json/steps.ts',
    within: 'StepReader.advance',
    changes: [
      "else if (this.#at < this.#text.length) this.#readToken(this.#text[this.#at] ?? ⟦'' → 'mutant'⟧);",
    ],
    reason: 'The position is within the text; the default is for the compiler.',
  },
  {
    file: 'src/json/steps.ts',
    within: 'StepReader.#skipSpace',
    changes: ['for (; this.#at ⟦< → <=⟧ end; this.#at++) {'],
    reason: 'A step may be longer by one character.',
  },
  {
    file: 'src/json/steps.ts',
    within: 'StepReader.#beginValue',
    changes: ["this.#open({ list: null, object: {}, key: ⟦'' → 'mutant'⟧, keyCount: 0 }, 'key or }');"],
    reason: 'The first key of the object replaces it before anyone reads it.',
  },
  {
    file: 'src/json/steps.ts',
    within: 'StepReader.#beginValue',
    changes: [
      "this.#open({ list: [], object: {}, key: ⟦'' → 'mutant'⟧, keyCount: 0 }, 'value or ]');",
      "this.#open({ list: [], object: {}, key: '', keyCount: ⟦0 → 1⟧ }, 'value or ]');",
    ],
    reason: 'A list has no keys.',
  },
  {
    file: 'src/json/steps.ts',
    within: 'StepReader.#readNumber',
    changes: [
      'const [digits] = number.exec(this.#text.slice(this.#at, this.#at + maxNumber + ⟦1 → 2⟧)) ?? [];',
    ],
    reason: 'One digit too many is enough to be refused.',
  },
  {
    file: 'src/json/steps.ts',
    within: 'StepReader.#beginString',
    changes: ['⟦this.#readString(); → ;⟧'],
    reason: 'The string is read in the next round instead.',
  },
  {
    file: 'src/json/steps.ts',
    within: 'StepReader.#readString',
    changes: ['const end = close ⟦<= → <⟧ limit ? close : this.#cutAt(limit, from);'],
    reason: 'The string is cut right before its closing quote, and put together again in the next round.',
  },
  {
    file: 'src/json/steps.ts',
    within: 'StepReader.#readString',
    changes: ["const isWhole = this.#begun === ⟦'' → 'mutant'⟧ && end === close;"],
    reason: 'It only spares a copy of the text.',
  },
  {
    file: 'src/json/steps.ts',
    within: 'StepReader.#quoteFrom',
    changes: [
      "if (⟦this.#quote < place → true⟧) this.#quote = this.#text.indexOf('\"', place);",
      "if (this.#quote ⟦< → <=⟧ place) this.#quote = this.#text.indexOf('\"', place);",
    ],
    reason: 'It only spares a search whose result is known.',
  },
  {
    file: 'src/json/steps.ts',
    within: 'StepReader.#quoteFrom',
    changes: ['if (⟦this.#quote < 0 → false⟧) throw unexpected();'],
    reason:
      'Without a closing quote nothing is left to parse, or reading goes on at the start of the text, where no text is valid after a string.',
  },
  {
    file: 'src/json/steps.ts',
    within: 'StepReader.#quoteFrom',
    changes: [
      'if (this.#quote ⟦< → <=⟧ 0) throw unexpected();',
      'if (this.#quote < ⟦0 → 1⟧) throw unexpected();',
    ],
    reason: 'The search starts after an opening quote, so it finds none at the start of the text.',
  },
  {
    file: 'src/json/steps.ts',
    within: 'StepReader.#cutAt',
    changes: [
      'for (let last = place - 1; last > place - 6 ⟦&& → ||⟧ last > from; last--)',
      'for (let last = place - 1; last ⟦> → >=⟧ place - 6 && last > from; last--)',
      'for (let last = place - 1; last > place - ⟦6 → 7⟧ && last > from; last--)',
    ],
    reason: 'The string may be cut before any of its escapes.',
  },
  {
    file: 'src/json/steps.ts',
    within: 'StepReader.#cutAt',
    changes: ['for (let last = place - 1; last > place - 6 && last ⟦> → >=⟧ from; last--)'],
    reason: 'A step is longer than an escape, so the search ends before it gets there.',
  },
  {
    file: 'src/json/tree.ts',
    within: 'Inspection.isSound',
    changes: [
      "if (⟦typeof value !== 'object' || value === null → false⟧) return true;",
      "if (typeof value !== 'object' ⟦|| → &&⟧ value === null) return true;",
    ],
    reason: 'Neither null nor a boolean has keys; this only spares the search for them.',
  },
  {
    file: 'src/json/tree.ts',
    within: 'Inspection',
    changes: ["problem = ⟦'' → 'mutant'⟧;"],
    reason: 'It is replaced by the problem that is found, and not read without one.',
  },
  {
    file: 'src/json/tree.ts',
    within: 'Inspection.isSoundList',
    changes: ['for (let index = 0; index ⟦< → <=⟧ list.length; index++) {'],
    reason: 'The additional item is undefined, and nothing is wrong with that.',
  },
];
