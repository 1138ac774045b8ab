/** The bodies of /api/auth, in better-auth's words. Each message completes the sentence "expected …". */
import { z } from 'zod';
import { readJsonBody } from '../json/body.ts';
import { parseBody } from '../json/problem.ts';
import { maxPassword, minPassword } from './password.ts';
import type { AuthBodies } from './sign-in-contract.ts';
import { isEmailAddress } from './user-store.ts';

const maxBytes = 64 * 1024;
const maxName = 100;
const maxToken = 100;

const email = z.string('an e-mail address').refine(isEmailAddress, 'an e-mail address').toLowerCase();
/** A password that is empty or too long is never right, and must not cost a hash. */
const givenPassword = z.string('a password').min(1, 'a password').max(maxPassword, 'a password');
const passwordForm = `${minPassword} to ${maxPassword} characters`;
const newPassword = z.string(passwordForm).min(minPassword, passwordForm).max(maxPassword, passwordForm);
const nameForm = `a name of up to ${maxName} characters in one line`;
const name = z
  .string(nameForm)
  .trim()
  .max(maxName, nameForm)
  .refine((text) => !/\p{Cc}/u.test(text), nameForm);
const token = z.string('the token of a link').max(maxToken, 'the token of a link');

/** Exactly the fields of the contract. */
type FieldsOf<Path extends keyof AuthBodies> = {
  [Field in keyof AuthBodies[Path]]: z.ZodType<AuthBodies[Path][Field], AuthBodies[Path][Field]>;
};

const object = 'a JSON object';
const schemas = {
  signIn: z.strictObject({ email, password: givenPassword } satisfies FieldsOf<'sign-in/email'>, object),
  signUp: z.strictObject({ name, email, password: newPassword } satisfies FieldsOf<'sign-up/email'>, object),
  resetRequest: z.strictObject({ email } satisfies FieldsOf<'request-password-reset'>, object),
  reset: z.strictObject({ token, newPassword } satisfies FieldsOf<'reset-password'>, object),
  passwordChange: z.strictObject(
    { currentPassword: givenPassword, newPassword } satisfies FieldsOf<'change-password'>,
    object,
  ),
  invitation: z.strictObject({ token } satisfies FieldsOf<'invitation/accept'>, object),
  invitedSignUp: z.strictObject(
    { token, name, email, password: newPassword } satisfies FieldsOf<'invitation/sign-up'>,
    object,
  ),
  verification: z.strictObject({ token } satisfies FieldsOf<'verify-email'>, object),
  session: z.strictObject({ id: z.guid('the ID of a session') } satisfies FieldsOf<'revoke-session'>, object),
  nothing: z.strictObject({}, object),
};

export const readSignIn = (request: Request) => read(request, schemas.signIn);
export const readSignUp = (request: Request) => read(request, schemas.signUp);
export const readResetRequest = (request: Request) => read(request, schemas.resetRequest);
export const readReset = (request: Request) => read(request, schemas.reset);
export const readPasswordChange = (request: Request) => read(request, schemas.passwordChange);
export const readInvitation = (request: Request) => read(request, schemas.invitation);
export const readInvitedSignUp = (request: Request) => read(request, schemas.invitedSignUp);
export const readVerification = (request: Request) => read(request, schemas.verification);
export const readSessionId = (request: Request) => read(request, schemas.session);

/** For endpoints without parameters: an empty object, or no body at all. */
export async function readNothing(request: Request): Promise<void> {
  if (request.body !== null) await read(request, schemas.nothing);
}

async function read<Shape extends z.ZodType>(request: Request, schema: Shape): Promise<z.output<Shape>> {
  const body = await readJsonBody(request, { maxBytes });
  return parseBody(schema, body, withoutSecrets(body));
}

const secretFields: ReadonlySet<string> = new Set(['password', 'newPassword', 'currentPassword', 'token']);
/** Too long to be quoted in an error message. */
const hidden = 'x'.repeat(100);

/** An error message quotes the value that it rejects, which must never be a password. */
function withoutSecrets(body: unknown): unknown {
  const fields = Object.entries(body as Readonly<Record<string, unknown>>);
  return Object.fromEntries(fields.map(([key, value]) => [key, secretFields.has(key) ? hidden : value]));
}
