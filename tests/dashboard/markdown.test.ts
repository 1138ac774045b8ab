/** Markdown that models write: read as people expect it, and harmless whatever is in it. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type Block, parseMarkdown } from '../../dashboard/kit/markdown/blocks.ts';
import { type Inline, parseInline, webAddress } from '../../dashboard/kit/markdown/inline.ts';

/** A short notation of what was read, such as `p(a strong(b))`. */
function written(blocks: readonly Block[]): string {
  return blocks.map(writtenBlock).join(' ');
}

function writtenBlock(block: Block): string {
  switch (block.kind) {
    case 'paragraph':
      return `p(${inline(block.content)})`;
    case 'heading':
      return `h${block.level}(${inline(block.content)})`;
    case 'code':
      return `code:${block.language}(${block.text})`;
    case 'quote':
      return `quote(${written(block.blocks)})`;
    case 'list':
      return `${block.start === null ? 'ul' : `ol${block.start}`}(${block.items.map((item) => `li(${written(item)})`).join(' ')})`;
    case 'table':
      return `table(${[block.head, ...block.rows].map((row) => row.map(inline).join('|')).join(' / ')})`;
    case 'rule':
      return 'rule';
  }
}

function inline(content: readonly Inline[]): string {
  return content
    .map((node) => {
      if (node.kind === 'text') return node.text;
      if (node.kind === 'code') return `code(${node.text})`;
      const name = node.kind === 'link' ? `link:${node.href}` : node.kind;
      return `${name}(${inline(node.content)})`;
    })
    .join('');
}

describe('within a line', () => {
  test.each([
    ['plain', 'plain'],
    ['**a** and *b* and __c__ and _d_', 'strong(a) and emphasis(b) and strong(c) and emphasis(d)'],
    ['***a***', 'strong(emphasis(a))'],
    ['**a *b* c**', 'strong(a emphasis(b) c)'],
    ['~~gone~~ ~not~', 'deleted(gone) ~not~'],
    ['2 * 3 * 4', '2 * 3 * 4'],
    ['snake_case_name and __init__.py', 'snake_case_name and strong(init).py'],
    ['**never closed', '**never closed'],
    ['*a **b* c**', 'emphasis(a **b) c**'],
    ['****', '****'],
    ['`a*b*` ``x`y`` `open', 'code(a*b*) code(x`y) `open'],
    ['`` ` ``', 'code(`)'],
    ['\\*a\\* \\\\ \\n', '*a* \\ \\n'],
    ['[a](https://x.test/b)', 'link:https://x.test/b(a)'],
    ['[a *b*](https://x.test "title")', 'link:https://x.test/(a emphasis(b))'],
    ['[w](https://x.test/a_(b))', 'link:https://x.test/a_(b)(w)'],
    ['[](https://x.test)', 'link:https://x.test/(https://x.test/)'],
    ['![pixel](https://x.test/p.png)', 'link:https://x.test/p.png(pixel)'],
    ['[a [b](https://x.test/b) c](https://x.test/c)', 'link:https://x.test/c(a b c)'],
    ['[a](javascript:alert(1))', '[a](javascript:alert(1))'],
    ['[a](data:text/html,x) [b](//x.test) [c](/keys)', '[a](data:text/html,x) [b](//x.test) [c](/keys)'],
    ['[a][b] [c] ]', '[a][b] [c] ]'],
    ['see https://x.test/a?b=c.', 'see link:https://x.test/a?b=c(https://x.test/a?b=c).'],
    ['xhttps://x.test', 'xhttps://x.test'],
    ['<b>a</b> &amp;', '<b>a</b> &amp;'],
  ])('%j is %j', (text, expected) => {
    expect(inline(parseInline(text))).toBe(expected);
  });

  test.each([
    ['https://x.test', 'https://x.test/'],
    ['HTTP://x.test', 'http://x.test/'],
    ['javascript:alert(1)', null],
    [' https://x.test', null],
    ['java\nscript:x', null],
    ['https://', null],
    ['', null],
  ])('the address %j is %j', (text, expected) => {
    expect(webAddress(text)).toBe(expected);
  });
});

describe('blocks', () => {
  test.each([
    ['', ''],
    ['a\nb\n\nc', 'p(a\nb) p(c)'],
    ['# A\n## B ##\n#C', 'h1(A) h2(B) p(#C)'],
    ['####### seven', 'p(####### seven)'],
    ['a\n---\nb\n* * *', 'p(a) rule p(b) rule'],
    ['```js\nlet a;\n\n*b*\n```\nc', 'code:js(let a;\n\n*b*) p(c)'],
    ['~~~\n```\n~~~', 'code:(```)'],
    ['```\nnot over', 'code:(not over)'],
    ['> a\n> > b\nc', 'quote(p(a) quote(p(b))) p(c)'],
    ['- a\n- b\n\n- c', 'ul(li(p(a)) li(p(b)) li(p(c)))'],
    ['Text:\n- a', 'p(Text:) ul(li(p(a)))'],
    ['3. a\n4. b', 'ol3(li(p(a)) li(p(b)))'],
    ['- a\n1. b', 'ul(li(p(a))) ol1(li(p(b)))'],
    ['1. a\n  - b\n    - c\n2. d', 'ol1(li(p(a) ul(li(p(b) ul(li(p(c)))))) li(p(d)))'],
    ['1. a\n   ```\n   x\n     y\n   ```\n2. b', 'ol1(li(p(a) code:(x\n  y)) li(p(b)))'],
    ['- a\nlazy\n\nafter', 'ul(li(p(a\nlazy))) p(after)'],
    ['- a\n\n  more', 'ul(li(p(a) p(more)))'],
    ['| A | B |\n|---|:-:|\n| 1 | *2* | 3 |\n| x\\|y |\nend', 'table(A|B / 1|emphasis(2) / x|y|) p(end)'],
    ['A | B\n--|--', 'table(A|B)'],
    ['a | b\nc', 'p(a | b\nc)'],
    ['| A |\n|---|---|', 'p(| A |\n|---|---|)'],
    ['a\r\n\r\nb', 'p(a) p(b)'],
    ['<script>alert(1)</script>', 'p(<script>alert(1)</script>)'],
  ])('%j is %j', (text, expected) => {
    expect(written(parseMarkdown(text))).toBe(expected);
  });

  test('know how the columns of a table are aligned', () => {
    const [table] = parseMarkdown('|a|b|c|d|\n|:-|-:|:-:|-|');
    expect(table).toMatchObject({ alignments: ['left', 'right', 'center', null] });
  });
});

type Counted = { nodes: number; depth: number; text: string; hrefs: string[] };

function count(nodes: readonly (Block | Inline)[], total: Counted, depth = 1): Counted {
  for (const node of nodes) {
    total.nodes += 1;
    total.depth = Math.max(total.depth, depth);
    if ('language' in node) total.text += node.language;
    if ('text' in node) total.text += node.text;
    if ('href' in node) total.hrefs.push(node.href);
    if ('content' in node) count(node.content, total, depth + 1);
    if ('blocks' in node) count(node.blocks, total, depth + 1);
    if ('items' in node) for (const item of node.items) count(item, total, depth + 1);
    if ('rows' in node) for (const cell of [node.head, ...node.rows].flat()) count(cell, total, depth + 1);
  }
  return total;
}

const counted = (text: string) => count(parseMarkdown(text), { nodes: 0, depth: 0, text: '', hrefs: [] });

const piece = fc.constantFrom(
  ...[
    '*',
    '**',
    '_',
    '~~',
    '`',
    '```',
    '[',
    '](',
    ')',
    '![',
    '(',
    '\\',
    '|',
    '|-|\n',
    '\n',
    '\n\n',
    '> ',
    '- ',
  ],
  ...[
    '1. ',
    '  ',
    '    ',
    '# ',
    '---',
    'a',
    'b c',
    'https://x.test/',
    'javascript:',
    '<b>',
    '"',
    '\u2028',
    '\r\n',
  ],
);
const hostile = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''));

describe('whatever the text', () => {
  test('its links lead to web pages, and nesting and size are bounded', () => {
    fc.assert(
      fc.property(fc.oneof(hostile, fc.string({ unit: 'binary' })), (text) => {
        const { nodes, depth, hrefs } = counted(text);
        for (const href of hrefs) expect(href).toMatch(/^https?:\/\//);
        expect(depth).toBeLessThan(25);
        expect(nodes).toBeLessThanOrEqual(3 * text.length + 1);
      }),
      { numRuns: 2_000 },
    );
  });

  test('its letters are all there, in their order', () => {
    const letters = (text: string) => text.replaceAll(/[^\p{L}]/gu, '');
    // Without links, whose addresses are not shown.
    const harmless = hostile.map((text) => text.replaceAll('https://x.test/', 'x'));
    fc.assert(
      fc.property(harmless, (text) => {
        // The cells of a row beyond the head of its table are left out.
        if (!text.includes('|')) expect(letters(counted(text).text)).toBe(letters(text));
      }),
      { numRuns: 1_000 },
    );
  });

  test.each([
    ...[
      '*',
      '**a',
      '_a ',
      '~~',
      '`',
      '`a``',
      '[',
      '[](',
      '[a](https://',
      '![',
      ']',
      '](',
      '\\',
      'http://',
      'http://%',
    ],
    ...[
      '> ',
      '- ',
      '1. ',
      '  - a\n',
      '```\n',
      '```\n```\n',
      '|',
      '|a|\n|-|\n',
      'a|b\n',
      '# ',
      '#',
      '-',
      ' ',
      '\n',
      '`\u2028',
    ],
    ...['*a_b~~[', '> - ', '- a\n\n', '[[a](https://x.test)', '**a* '],
  ])('%j over and over takes work in proportion to its length', (unit) => {
    const text = unit.repeat(Math.ceil(100_000 / unit.length));
    // Work that grew with the square of the length would not end within the time of a test.
    expect(counted(text).nodes).toBeLessThanOrEqual(3 * text.length);
  });

  test('a table is not wider than people can read', () => {
    const wide = `${'|a'.repeat(51)}|\n${'|-'.repeat(51)}|\n${'|x\n'.repeat(1_000)}`;
    expect(parseMarkdown(wide).some(({ kind }) => kind === 'table')).toBe(false);
  });

  test('what is too long to be read as Markdown is shown as it is', () => {
    const blocks = parseMarkdown(`${'a '.repeat(50_000)}**not bold**`);
    expect(blocks.at(-1)).toEqual({
      kind: 'paragraph',
      content: [{ kind: 'text', text: '**not bold**' }],
    });
  });
});
