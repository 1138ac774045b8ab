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

/** Each leads to the requests that have it, too. */
export function AttributionFacts({ attribution }: Readonly<{ attribution: Attribution }>) {
  const { end_user: endUser, session, tags } = attribution;
  const named = Object.entries(tags).map(([name, value]) => `${name}=${value}`);
  return (
    <>
      {endUser !== null && (
        <Fact name="End user">
          <LabelLink name="end_user" label={endUser} />
        </Fact>
      )}
      {session !== null && (
        <Fact name="Session">
          <LabelLink name="session" label={session} />
        </Fact>
      )}
      {named.length > 0 && (
        <Fact name="Tags">
          <ul>
            {named.map((tag) => (
              <li key={tag}>
                <LabelLink name="tag" label={tag} />
              </li>
            ))}
          </ul>
        </Fact>
      )}
    </>
  );
}

function LabelLink({ name, label }: Readonly<{ name: 'end_user' | 'session' | 'tag'; label: string }>) {
  const { reader } = useScope();
  return (
    <Link {...requestsWith({ [name]: label }, reader)} className={textLinkClass}>
      <bdi>{label}</bdi>
    </Link>
  );
}
