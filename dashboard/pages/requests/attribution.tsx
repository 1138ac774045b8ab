/** Whom a request was for, as it said itself. */
import { Link } from '@tanstack/react-router';
import { Fact } from '../../kit/card.tsx';
import { textLinkClass } from '../../kit/class-names.ts';
import { requestsWith } from '../../links.ts';
import { useScope } from './scope.ts';

type Attribution = Readonly<{
  end_user: string | null;
  session: string | null;
  tags: Readonly<Record<string, string>>;
}>;

type AttributionFactsProps = Readonly<{
  attribution: Attribution;
  /** For operators: other accounts may have users and sessions of the same name. */
  account: Readonly<{ id: string }> | undefined;
}>;

/** Each leads to the requests that have it, too. */
export function AttributionFacts({ attribution, account }: AttributionFactsProps) {
  const { end_user: endUser, session, tags } = attribution;
  const named = Object.entries(tags).map(([name, value]) => `${name}=${value}`);
  return (
    <>
      {endUser !== null && (
        <Fact name="End user">
          <LabelLink name="end_user" label={endUser} account={account} />
        </Fact>
      )}
      {session !== null && (
        <Fact name="Session">
          <LabelLink name="session" label={session} account={account} />
        </Fact>
      )}
      {named.length > 0 && (
        <Fact name="Tags">
          <ul>
            {named.map((tag) => (
              <li key={tag}>
                <LabelLink name="tag" label={tag} account={account} />
              </li>
            ))}
          </ul>
        </Fact>
      )}
    </>
  );
}

type LabelLinkProps = Pick<AttributionFactsProps, 'account'> &
  Readonly<{ name: 'end_user' | 'session' | 'tag'; label: string }>;

function LabelLink({ name, label, account }: LabelLinkProps) {
  const { reader } = useScope();
  const filter = account === undefined ? { [name]: label } : { [name]: label, account: account.id };
  return (
    <Link {...requestsWith(filter, reader)} className={textLinkClass}>
      <bdi>{label}</bdi>
    </Link>
  );
}
