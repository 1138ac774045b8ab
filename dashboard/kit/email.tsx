/** An e-mail address that breaks where people would break it: after the @ and after dots. */
export function Email({ address }: Readonly<{ address: string }>) {
  return (
    <span className="wrap-break-word">
      {address.split(/(?<=[@.])/).map((part, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one address never move.
        <span key={at}>
          {at > 0 && <wbr />}
          {part}
        </span>
      ))}
    </span>
  );
}
