/** Text that becomes HTML: everything is escaped, and only what is written here becomes a tag. */

export function plain(text: string): string {
  return Bun.escapeHTML(text);
}

/** Inline code and emphasis. */
export function inline(text: string): string {
  return plain(text)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\*([^*]+)\*/g, '<em>$1</em>');
}

/** Paragraphs and lists, separated by empty lines. */
export function blocks(text: string): string {
  return text
    .split('\n\n')
    .map((block) =>
      block.startsWith('- ')
        ? `<ul>${block
            .split('\n')
            .map((line) => `<li>${inline(line.slice(2))}</li>`)
            .join('')}</ul>`
        : `<p>${inline(block)}</p>`,
    )
    .join('\n');
}

export type Section = Readonly<{ anchor: string; title: string; html: string }>;

/** Splits a text at its headings. What comes before the first one has no title. */
export function sections(text: string): Section[] {
  return text.split(/^## /m).map((part, place) => {
    if (place === 0) return { anchor: 'introduction', title: '', html: blocks(part.trim()) };
    const [title = '', ...rest] = part.split('\n');
    return { anchor: anchorOf(title), title, html: blocks(rest.join('\n').trim()) };
  });
}

function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
}

/** JSON with syntax highlighting. */
export function json(value: unknown): string {
  return plain(JSON.stringify(value, null, 2)).replace(
    /(&quot;(?:(?!&quot;|\\).|\\(?:&quot;|.))*&quot;)(:)?|\b(true|false|null)\b|-?\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b/g,
    (match, text: string | undefined, colon: string | undefined) => {
      if (text === undefined) return `<span class="value">${match}</span>`;
      return colon === undefined ? `<span class="text">${text}</span>` : `<span class="name">${text}</span>:`;
    },
  );
}

export function code(html: string, label: string): string {
  return `<figure class="code"><figcaption>${plain(label)}</figcaption><pre tabindex="0"><code>${html}</code></pre></figure>`;
}
