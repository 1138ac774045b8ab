/** The command of the first steps: complete but for the key, which was told only once. */
export function firstRequest(apiOrigin: string, model: string): string {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Say hello.' }] });
  return [
    `curl ${apiOrigin}/v1/chat/completions \\`,
    '  -H "Authorization: Bearer YOUR_KEY" \\',
    '  -H "Content-Type: application/json" \\',
    // A single quote would end the text for the shell.
    `  -d '${body.replaceAll("'", String.raw`'\''`)}'`,
  ].join('\n');
}
