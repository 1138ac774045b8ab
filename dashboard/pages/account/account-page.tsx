/** What belongs to the person who is signed in: their password and where they are signed in. */
import { useMe } from '../../api/session.ts';
import { Card } from '../../kit/card.tsx';
import { Fact, Facts } from '../../kit/facts.tsx';
import { Page } from '../../kit/page.tsx';
import { ChangePassword } from './change-password.tsx';
import { Sessions } from './sessions.tsx';

export function AccountPage() {
  const { user, accounts } = useMe();
  return (
    <Page title="Your sign-in" description="Who you are here, your password, and where you are signed in.">
      <div className="grid items-start gap-6 lg:grid-cols-2">
        <Card title="You">
          <Facts>
            {user.name !== '' && <Fact name="Name">{user.name}</Fact>}
            <Fact name="E-mail">{user.email}</Fact>
            {accounts.map((account) => (
              <Fact key={account.id} name={account.name}>
                {account.role === 'owner' ? 'Owner' : 'Member'}
              </Fact>
            ))}
            {user.is_operator && <Fact name="This gateway">Operator</Fact>}
          </Facts>
        </Card>
        <ChangePassword />
      </div>
      <Sessions />
    </Page>
  );
}
