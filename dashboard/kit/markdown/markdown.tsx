/** Shows Markdown as elements. There is no HTML in between, so nothing in the text can become another element. */
import { memo, type ReactNode, useDeferredValue, useMemo } from 'react';
import { textLinkClass } from '../class-names.ts';
import { CodeBlock } from '../code-block.tsx';
import { type Block, parseMarkdown } from './blocks.ts';
import type { Inline } from './inline.ts';

/** Text that is still growing is rendered as often as the browser can keep up with. */
export const Markdown = memo(({ text }: Readonly<{ text: string }>) => {
  const shown = useDeferredValue(text);
  const blocks = useMemo(() => withoutGaps(parseMarkdown(shown)), [shown]);
  return (
    <div className="space-y-3 wrap-anywhere">
      {listed(blocks, (block) => (
        <BlockView block={block} />
      ))}
    </div>
  );
});

/** The highest heading of a text is below those of the page, and no level is left out, whatever its author chose. */
function withoutGaps(blocks: readonly Block[]): readonly Block[] {
  const levels = blocks.flatMap((block) => (block.kind === 'heading' ? [block.level] : []));
  const above = Math.min(...levels) - 1;
  let last = 0;
  return blocks.map((block) => {
    if (block.kind !== 'heading') return block;
    last = Math.min(block.level - above, last + 1);
    return { ...block, level: last };
  });
}

/** Elements of a text that only ever grows at its end, so their places identify them. */
function listed<Item>(items: readonly Item[], show: (item: Item, at: number) => ReactNode): ReactNode {
  // biome-ignore lint/suspicious/noArrayIndexKey: see above.
  return items.map((item, at) => <Keyed key={at}>{show(item, at)}</Keyed>);
}

function Keyed({ children }: Readonly<{ children: ReactNode }>) {
  return children;
}

/** Below the headings of the page itself. */
const headings = ['h3', 'h4', 'h5', 'h6'] as const;
const headingClasses = ['text-lg', 'text-base', 'text-sm', 'text-sm text-ink-soft'] as const;

function BlockView({ block }: Readonly<{ block: Block }>) {
  switch (block.kind) {
    case 'paragraph':
      return <p className="whitespace-pre-wrap">{inline(block.content)}</p>;
    case 'heading': {
      const step = Math.min(block.level, headings.length) - 1;
      const Heading = headings[step] ?? 'h6';
      return <Heading className={`font-semibold ${headingClasses[step]}`}>{inline(block.content)}</Heading>;
    }
    case 'code': {
      const label = block.language === '' ? 'Code' : block.language;
      return <CodeBlock label={`Code: ${label}`} samples={[{ label, code: block.text }]} />;
    }
    case 'quote':
      return (
        <blockquote className="space-y-3 border-l-2 border-edge/60 pl-3 text-ink-soft">
          {listed(block.blocks, (inner) => (
            <BlockView block={inner} />
          ))}
        </blockquote>
      );
    case 'list':
      return <ListView block={block} />;
    case 'table':
      return <TableView block={block} />;
    case 'rule':
      return <hr className="border-line" />;
  }
}

type Of<Kind extends Block['kind']> = Readonly<{ block: Extract<Block, { kind: Kind }> }>;

function ListView({ block: { start, items } }: Of<'list'>) {
  const shown = listed(items, (blocks) => (
    <li className="space-y-1.5 pl-1">
      {listed(blocks, (block) => (
        <BlockView block={block} />
      ))}
    </li>
  ));
  return start === null ? (
    <ul className="list-disc space-y-1 pl-5">{shown}</ul>
  ) : (
    <ol start={start} className="list-decimal space-y-1 pl-6">
      {shown}
    </ol>
  );
}

const alignmentClasses = { left: 'text-left', right: 'text-right', center: 'text-center' } as const;

function TableView({ block: { alignments, head, rows } }: Of<'table'>) {
  const classAt = (column: number) => `px-2.5 py-1.5 ${alignmentClasses[alignments[column] ?? 'left']}`;
  return (
    <section
      aria-label="Table"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
      tabIndex={0}
      className="overflow-x-auto rounded-md border border-line"
    >
      <table className="w-full text-[0.8125rem] wrap-normal">
        <thead className="bg-sunken">
          <tr>
            {listed(head, (cell, column) => (
              <th scope="col" className={`${classAt(column)} font-medium`}>
                {inline(cell)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {listed(rows, (row) => (
            <tr className="border-t border-line align-baseline">
              {listed(row, (cell, column) => (
                <td className={classAt(column)}>{inline(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function inline(content: readonly Inline[]): ReactNode {
  return listed(content, (node) => <InlineView node={node} />);
}

function InlineView({ node }: Readonly<{ node: Inline }>) {
  switch (node.kind) {
    case 'text':
      return node.text;
    case 'code':
      return <code className="rounded bg-sunken px-1 py-0.5 font-mono text-[0.8125rem]">{node.text}</code>;
    case 'strong':
      return <strong className="font-semibold">{inline(node.content)}</strong>;
    case 'emphasis':
      return <em>{inline(node.content)}</em>;
    case 'deleted':
      return <del>{inline(node.content)}</del>;
    case 'link':
      return (
        // The title shows where it leads, which its text may not.
        <a
          href={node.href}
          title={node.href}
          target="_blank"
          rel="noopener noreferrer nofollow"
          className={textLinkClass}
        >
          {inline(node.content)}
        </a>
      );
  }
}
