/**
 * The types of the console API for the box that finds anything. They follow the conventions of contract.ts. Request IDs
 * are not looked up here: the page of a request says whether there is one.
 *
 * GET …/accounts/{account}/find?q → AccountFindings. GET …/operator/find?q → OperatorFindings. `q` has 1 to 200 characters.
 * At most 8 of each kind are listed. Keys, accounts and people match by a part of their name, hint or address, or by their
 * whole ID; end users and sessions by their beginning. For operators, of keys, accounts and people the newest 20,000 are
 * looked at, and an end user or session is listed once for each account of its last 500 requests, 20 in all.
 */
export type AccountFindings = {
  keys: FoundKey[];
  models: FoundModel[];
  end_users: string[];
  sessions: string[];
};

export type OperatorFindings = {
  accounts: FoundAccount[];
  people: FoundPerson[];
  providers: FoundProvider[];
  models: FoundModel[];
  keys: (FoundKey & { account: { id: string; name: string } })[];
  end_users: FoundLabel[];
  sessions: FoundLabel[];
};

export type FoundKey = { id: string; name: string; hint: string; is_in_force: boolean };
/** An end user or a session: several accounts may use the same name. */
export type FoundLabel = { label: string; account: { id: string; name: string } };
export type FoundModel = { id: string; name: string };
export type FoundAccount = { id: string; name: string; external_id: string | null };
export type FoundPerson = { id: string; email: string; name: string };
export type FoundProvider = { id: string; name: string };
