import { Callout } from '../../../kit/callout.tsx';

/** Before someone gets rights who may not be who the address says. */
export function UnverifiedNote({ email }: Readonly<{ email: string }>) {
  return (
    <Callout tone="warn" title="This address is not verified">
      Somebody signed up with {email}, and it may not be the person who reads its mail. If you are not sure,
      make a password link and send it to this address first: using it verifies the address and signs everyone
      else out.
    </Callout>
  );
}
