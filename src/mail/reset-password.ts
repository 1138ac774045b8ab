import type { Mail } from './mailer.ts';

/** The mail with the link for choosing a new password. */
export function resetPasswordMail(to: string, url: string, minutes: number): Mail {
  const origin = new URL(url).origin;
  const greeting = `Someone, probably you, asked for a new password at ${origin}.`;
  const instruction = `Choose one here within ${minutes} minutes. The link works once:`;
  const farewell = 'If it was not you, do nothing: your password stays as it is.';
  return {
    to,
    subject: 'Choose a new password',
    text: `${greeting}\n\n${instruction}\n\n${url}\n\n${farewell}\n`,
    html: [
      `<p>${Bun.escapeHTML(greeting)}</p>`,
      `<p>${Bun.escapeHTML(instruction)}<br><a href="${Bun.escapeHTML(url)}">${Bun.escapeHTML(url)}</a></p>`,
      `<p>${Bun.escapeHTML(farewell)}</p>`,
    ].join('\n'),
  };
}
