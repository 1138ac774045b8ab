/** The pages Playground, Models and Decisions: what people try by hand, against a sandbox that misbehaves when asked to. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import type { GenerationDetail, NewKey } from '../../src/console/contract.ts';
import { expectNoComplaints, takePicture, visit } from '../support/browser.ts';
import { chatCatalog } from '../support/chat-fixture.ts';
import { type DashboardFixture, openDashboardFixture } from '../support/dashboard-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, startGateway, temporaryFolder } from '../support/gateway.ts';
import { checkLooks } from '../support/looks.ts';

let fixture: DashboardFixture;
/** The same gateway once more, with a decision provider. */
let deciding: Gateway;

/** With images that come inline, and with videos, which no endpoint makes. */
const catalogOf = (url: string) =>
  chatCatalog(url, {
    providers: `  drawing: { name: Drawing Board, adapter: google, base_url: ${url}/v1beta, api_key_env: MAIN_KEY }`,
    models: [
      '  sketch: { workload: image, sizes: ["1024x1024", "1408x768"], max_images: 2, pricing: { billing_type: image, unit_price: "0.03" }, providers: [drawing] }',
      '  clip: { workload: video, pricing: { billing_type: second, unit_price: "0.1" }, providers: [main] }',
    ].join('\n'),
  });

beforeAll(async () => {
  fixture = await openDashboardFixture(catalogOf);
  deciding = await startGateway({
    ...fixture.environment,
    DECISIONS_BASE_URL: `${fixture.sandbox.url}/v1`,
    DECISIONS_API_KEY: 'provider-key-canary',
    DECISIONS_MODEL: 'sandbox-decision-latest',
  });
}, 60_000);

afterAll(async () => {
  await deciding?.stop();
  await fixture?.close();
}, 60_000);

const enter = (path: string, { origin } = fixture.gateway) => fixture.enter('owner', path, { origin });

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
}

const conversation = (page: Page) => page.getByRole('log', { name: 'Conversation' });

type Asked = { messages: { role: string; content: unknown }[] };

/**
 * The newest chat request with this text that reached the provider, as it was on the wire. The sandbox lists a request
 * when it has ended, so the newest of all may be an older one that took longer.
 */
function asked(text: string): Promise<Asked> {
  return eventually(`the request with “${text}” at the provider`, () => {
    const entry = fixture.sandbox.entries.findLast(
      ({ path, body }) => path === '/v1/chat/completions' && JSON.stringify(body).includes(text),
    );
    return entry?.body as Asked | undefined;
  });
}

test('an answer is streamed, shown without its HTML taking effect, and charged as the page says', async () => {
  const watched = await enter('/playground?model=full');
  const { page } = watched;
  await page.getByLabel('System message').fill('Be brief.');
  await page.getByLabel('Temperature').fill('2');
  await page.getByText('Enter a number from 0 to less than 2.').waitFor();
  await page.getByLabel('Message', { exact: true }).fill('Hi');
  const send = page.getByRole('button', { name: 'Send' });
  expect(await send.isDisabled()).toBe(true);
  await page.setViewportSize({ width: 1280, height: 768 });
  const { y = 0, height = 0 } = (await send.boundingBox()) ?? {};
  expect(y + height).toBeLessThan(768);
  await page.getByLabel('Temperature').fill('0.5');
  await say(page, 'Hello [[say <img src=x> one\nand two]]');
  const link = page.getByRole('link', { name: 'View request' });
  await link.waitFor();
  // Once in the question and once in the answer, and neither is a picture.
  expect(await conversation(page).getByText('<img src=x> one').count()).toBe(2);
  expect(await conversation(page).locator('img').count()).toBe(0);
  const first = await asked('Be brief.');
  expect(first).toMatchObject({ temperature: 0.5, stream: true });
  expect(first.messages[0]).toEqual({ role: 'system', content: 'Be brief.' });

  const cost = await conversation(page).getByTitle(/USD$/).getAttribute('title');
  const href = (await link.getAttribute('href')) ?? '';
  const requestId = new URL(href, fixture.gateway.origin).pathname.split('/').at(-1);
  const response = await fixture.people.owner.send(
    'GET',
    `/api/console/accounts/${fixture.account}/requests/${requestId}`,
  );
  const { request: generation } = (await response.json()) as { request: GenerationDetail };
  expect(generation.key.id).toBe(fixture.keyId);
  expect(cost).toBe(`$${generation.cost?.total.replace(/0+$/, '')} USD`);

  await say(page, 'And now? [[say Three.]]');
  await conversation(page).getByText('Three.', { exact: true }).waitFor();
  expect((await asked('And now?')).messages.map(({ role }) => role)).toEqual([
    'system',
    'user',
    'assistant',
    'user',
  ]);
  await page.getByRole('button', { name: 'Start over' }).click();
  await page.getByText('Write your first message below').waitFor();
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('an answer can be stopped, and one that breaks off is explained in plain words', async () => {
  const watched = await enter('/playground?model=full');
  const { page } = watched;
  await say(page, 'Go on [[long 500]] [[chunk-delay 30]]');
  await conversation(page).getByText('Writing …').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('You stopped this response.').waitFor();

  await say(page, 'Break [[long 20]] [[cut 5]]');
  await page.getByText('The stream from the provider failed.').waitFor();
  await page.getByRole('button', { name: 'Try again' }).waitFor();
  await say(page, 'No more [[finish content_filter]]');
  await page.getByText('content filter withheld').waitFor();

  await page.getByLabel('Model').selectOption('locked');
  await say(page, 'Hello');
  await page.getByText("The provider rejected this gateway's credentials.").waitFor();
  await page.getByText('Only the operator of this gateway can fix this.').waitFor();

  await page.getByRole('button', { name: 'Start over' }).click();
  await page.getByLabel('Model').selectOption('plain');
  await page.getByText('This model does not support tools.').waitFor();
  await say(page, 'Whole [[say At once.]]');
  await conversation(page).getByText('At once.', { exact: true }).waitFor();
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('an answer whose connection breaks before its last event is not called complete, and is looked up', async () => {
  const watched = await enter('/playground?model=full');
  const { page } = watched;
  await page.route('**/playground/chat', async (route) => {
    const response = await route.fetch();
    const text = await response.text();
    expect(text).toContain('"finish_reason":"stop"');
    await route.fulfill({ response, body: text.replace('data: [DONE]\n\n', '') });
  });
  await say(page, 'Hello [[say All of it.]]');
  await page.getByText('The connection was lost before the end of the response.').waitFor();
  await conversation(page).getByText('All of it.', { exact: true }).waitFor();
  await conversation(page).getByText('Completed').waitFor();
  await conversation(page).getByText('Cost').waitFor();
  await checkLooks(page, 'playground-broken');
  await page.unroute('**/playground/chat');
  await say(page, 'And now? [[say Whole.]]');
  await conversation(page).getByText('Whole.', { exact: true }).waitFor();
  await page.getByText('The connection was lost').waitFor();
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('a tool call is shown, and its result sent back', async () => {
  const watched = await enter('/playground?model=full');
  const { page } = watched;
  await page.getByLabel(/^Tools/).fill('[{}]');
  await page.getByText('Tool 1 needs "type": "function".').waitFor();
  await page.getByLabel(/^Tools/).fill('');
  await page.getByRole('button', { name: 'Insert example' }).click();
  await say(page, 'Weather? [[tool get_weather]]');
  await conversation(page).getByText('"city"').waitFor();
  await page.getByLabel('Result of get_weather').fill('{"temperature": 21}');
  await page.getByRole('button', { name: 'Send result' }).click();
  await conversation(page).getByText('{"temperature": 21}', { exact: true }).waitFor();
  expect((await asked('"role":"tool"')).messages.at(-1)).toMatchObject({
    role: 'tool',
    content: '{"temperature": 21}',
  });
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('a picture is previewed and sent, to models that see', async () => {
  const watched = await enter('/playground?model=full');
  const { page } = watched;
  const pixel =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
  const file = (name: string, mimeType: string) => ({ name, mimeType, buffer: Buffer.from(pixel, 'base64') });
  const chooser = page.getByLabel('Images', { exact: true });
  await chooser.setInputFiles(file('notes.txt', 'text/plain'));
  await page.getByText('notes.txt is not a PNG, JPEG, WebP or GIF image.').waitFor();
  await chooser.setInputFiles(file('pixel.png', 'image/png'));
  await page.getByRole('img', { name: 'pixel.png' }).waitFor();
  await say(page, 'What is this? [[say A pixel.]]');
  await conversation(page).getByText('A pixel.', { exact: true }).waitFor();
  expect((await asked('What is this?')).messages[0]?.content).toEqual([
    { type: 'text', text: 'What is this? [[say A pixel.]]' },
    { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } },
  ]);
  await page.getByLabel('Model').selectOption('plain');
  await page.getByRole('button', { name: 'Add image' }).waitFor({ state: 'detached' });
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('the code to copy does the same, and holds no key', async () => {
  const watched = await enter('/playground?model=full');
  const { page } = watched;
  await page.getByLabel('Message', { exact: true }).fill("It's me [[say Hello from code.]]");
  await page.getByText('Code', { exact: true }).click();
  const codeOf = async (language: string) => {
    await page.getByText(language, { exact: true }).click();
    await page.getByRole('button', { name: 'Copy: Request as code' }).click();
    return (await page.evaluate('navigator.clipboard.readText()')) as string;
  };
  const folder = temporaryFolder();
  symlinkSync(join(import.meta.dir, '../../node_modules'), join(folder, 'node_modules'));
  const run = async (...command: string[]) => {
    const env = { ...process.env, OPENAI_API_KEY: fixture.key };
    const child = Bun.spawn(command, { cwd: folder, env, stdout: 'pipe', stderr: 'pipe' });
    return await new Response(child.stdout).text();
  };
  const curl = await codeOf('curl');
  const streamed = (await run('sh', '-c', curl)).matchAll(/"content":"([^"]*)"/g);
  expect([...streamed].map(([, text]) => text).join('')).toBe('Hello from code.');
  const typescript = await codeOf('TypeScript');
  writeFileSync(join(folder, 'sample.ts'), typescript);
  expect(await run(process.execPath, 'sample.ts')).toBe('Hello from code.');
  expect(await codeOf('Python')).toContain('os.environ["OPENAI_API_KEY"]');
  expect(await page.content()).not.toContain(fixture.key);
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('an answer is shown as the Markdown that it is, and its links lead nowhere but to web pages', async () => {
  const watched = await enter('/playground?model=full');
  const { page } = watched;
  const answer = [
    '## Plan',
    'It is **bold**, `code` and <b>not bold</b>.',
    '',
    '- one',
    '- two [site](https://example.com/a) [trap](javascript:alert(1)) ![pixel](https://example.com/p.png)',
    '',
    '| Name | Count |',
    '|---|---:|',
    '| a | 1 |',
    '',
    '```js',
    'const a = 1 < 2;',
    '```',
  ].join('\n');
  await say(page, `Show [[say ${answer}]]`);
  const said = conversation(page).getByRole('listitem').filter({ hasText: 'Model' }).last();
  await page.getByText('Cost').waitFor();
  await said.getByRole('heading', { name: 'Plan' }).waitFor();
  expect(await said.locator('strong').textContent()).toBe('bold');
  expect(await said.locator('pre code').textContent()).toBe('const a = 1 < 2;');
  await said.getByText('<b>not bold</b>').waitFor();
  await said.getByRole('cell', { name: '1', exact: true }).waitFor();
  const link = said.getByRole('link', { name: 'site' });
  expect(await link.getAttribute('href')).toBe('https://example.com/a');
  expect(await link.getAttribute('rel')).toContain('noopener');
  expect(await said.getByRole('link', { name: 'trap' }).count()).toBe(0);
  expect(await conversation(page).locator('img, b').count()).toBe(0);
  await checkLooks(page, 'playground-markdown');
  await say(page, 'As JSON [[say {"a": "*b* and *c*"}]]');
  await conversation(page).getByText('{"a": "*b* and *c*"}', { exact: true }).waitFor();
  // Scrolling inside the conversation does not make the page itself longer.
  await say(page, `Long [[say ${Array.from({ length: 60 }, (_, at) => `- item ${at}`).join('\n')}]]`);
  await conversation(page).getByText('item 59', { exact: true }).waitFor();
  await conversation(page).getByText('Cost').nth(2).waitFor();
  const beyondContentPixels = await page.evaluate(
    `document.documentElement.scrollHeight -
       Math.max(innerHeight, Math.ceil(document.querySelector('main').getBoundingClientRect().bottom + scrollY))`,
  );
  expect(beyondContentPixels).toBe(0);
  await takePicture(page, 'playground-long');
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('the playground opens with a key that may call the model, and a choice of one moves the other', async () => {
  const made = await fixture.people.owner.send('POST', `/api/console/accounts/${fixture.account}/keys`, {
    name: 'Pictures only',
    allowed_models: ['sketch'],
  });
  const { key } = (await made.json()) as NewKey;
  const watched = await enter('/playground');
  const { page } = watched;
  const chosen = async () => [
    await page.getByLabel('Model').inputValue(),
    await page.getByLabel('Key').inputValue(),
  ];
  await page.getByLabel('Message', { exact: true }).waitFor();
  expect(await chosen()).toEqual(['full', fixture.keyId]);
  await page.goto(`/playground?model=full&key=${key.id}`);
  await page.getByLabel('Message', { exact: true }).waitFor();
  expect(await chosen()).toEqual(['full', fixture.keyId]);
  await page.getByLabel('Key').selectOption(key.id);
  await page.getByLabel('Prompt').waitFor();
  expect(await chosen()).toEqual(['sketch', key.id]);
  await page.getByLabel('Model').selectOption('plain');
  await page.getByLabel('Message', { exact: true }).waitFor();
  expect(await chosen()).toEqual(['plain', fixture.keyId]);
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('images are made in the playground, shown when they come inline and linked to when they do not', async () => {
  const watched = await enter('/models/sketch');
  const { page } = watched;
  await page.getByRole('link', { name: 'Try sketch' }).click();
  await page.getByLabel('Prompt').fill('A gate at dawn');
  expect(await page.getByLabel('Number of images').locator('option').allTextContents()).toEqual(['1', '2']);
  await page.getByLabel('Size').selectOption('1408x768');
  await page.getByLabel('Number of images').selectOption('2');
  await page.getByRole('button', { name: 'Generate' }).click();
  const results = page.getByRole('log', { name: 'Images' });
  await results.getByText('$0.06').waitFor();
  const drawn = results.getByRole('img', { name: 'A gate at dawn' });
  expect(await drawn.count()).toBe(2);
  await eventually('an image to be painted', () =>
    drawn.first().evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth === 1408),
  );
  await results.getByRole('link', { name: 'View request' }).waitFor();
  await checkLooks(page, 'playground-images');
  await page.getByText('Code', { exact: true }).click();
  await page.getByText('/v1/images/generations').waitFor();
  await page.getByText('Images', { exact: true }).last().click();

  await page.getByLabel('Model').selectOption('picture');
  await page.getByLabel('Prompt').fill('A bridge');
  await page.getByRole('button', { name: 'Generate' }).click();
  const hosted = results.getByRole('link', { name: 'Open image 1' });
  expect(await hosted.getAttribute('href')).toStartWith(`${fixture.sandbox.url}/images/`);
  expect(await hosted.getAttribute('rel')).toContain('noopener');
  await page.getByLabel('Prompt').fill('No more [[status 400]]');
  await page.getByRole('button', { name: 'Generate' }).click();
  await results.getByText('The provider rejected these settings').waitFor();
  // The page says what cannot be tried, instead of trying something else.
  await page.goto('/playground?model=clip');
  await page.getByText('clip cannot be called').waitFor();
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('what is written in the playground survives a walk to other pages and the end of the session, but no sign-out', async () => {
  const watched = await enter('/playground?model=tiered');
  const { page } = watched;
  const message = page.getByLabel('Message', { exact: true });
  const goToPlayground = () => page.getByRole('link', { name: 'Playground', exact: true }).click();
  const signIn = async () => {
    await page.getByLabel('E-mail').fill('owner@example.com');
    await page.getByLabel('Password').fill('correct horse battery');
    await page.getByRole('button', { name: 'Sign in' }).click();
  };
  await say(page, 'First [[say Said before.]]');
  await conversation(page).getByText('Said before.', { exact: true }).waitFor();
  await message.fill('A long thought');
  await page.getByLabel('System message').fill('Be brief.');
  await page.getByRole('link', { name: 'Keys', exact: true }).click();
  await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor();
  await goToPlayground();
  expect(await message.inputValue()).toBe('A long thought');
  expect(await page.getByLabel('System message').inputValue()).toBe('Be brief.');
  expect(await page.getByLabel('Model').inputValue()).toBe('tiered');
  await conversation(page).getByText('Said before.', { exact: true }).waitFor();

  // A message that could not be sent without a session comes back as a draft.
  await page.context().clearCookies();
  await say(page, 'A longer thought');
  await page.getByText('Your session has ended. Sign in again.').waitFor();
  await signIn();
  await message.waitFor();
  expect(await message.inputValue()).toBe('A longer thought');
  await page.context().clearCookies();
  await page.reload();
  await page.getByText('Your session has ended. Sign in again.').waitFor();
  await signIn();
  await message.waitFor();
  expect(await message.inputValue()).toBe('A longer thought');
  expect(await page.getByLabel('System message').inputValue()).toBe('Be brief.');

  await page.getByRole('button', { name: 'owner@example.com' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByLabel('E-mail').waitFor();
  expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).not.toContain('thought');
  await signIn();
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  await goToPlayground();
  await message.waitFor();
  expect(await message.inputValue()).toBe('');
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('models are listed with their makers, and those that no endpoint can call say so', async () => {
  const watched = await enter('/models');
  const { page } = watched;
  const linkTo = (name: string) => page.getByRole('table', { name: 'Models' }).getByRole('link', { name });
  await page.getByRole('row').filter({ hasText: 'clip' }).getByText('Not callable').waitFor();
  await checkLooks(page, 'models-not-callable');
  await linkTo('sketch').click();
  await page.getByText('Drawing Board').first().waitFor();
  await page.getByText('/v1/images/generations').first().waitFor();
  await page.goto('/models/clip');
  await page.getByText('no endpoint for video').waitFor();
  expect(await page.getByRole('link', { name: 'Try clip' }).count()).toBe(0);
  expect(await page.getByRole('region', { name: /as code$/ }).count()).toBe(0);
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

describe('decisions', () => {
  test('are answered with probabilities, whatever the questions are called', async () => {
    const watched = await enter('/decisions', deciding);
    const { page } = watched;
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByRole('heading', { name: 'urgency' }).waitFor();
    await page.getByRole('meter', { name: 'Probability of billing' }).waitFor();

    await page.getByRole('group', { name: 'Question 1' }).getByLabel('Name', { exact: true }).fill('');
    await page.getByText('Name this question.', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Run' }).isDisabled()).toBe(true);
    await page
      .getByRole('group', { name: 'Question 1' })
      .getByLabel('Name', { exact: true })
      .fill('__proto__');
    await page.getByRole('button', { name: 'Move option 1 down' }).click();
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByRole('heading', { name: '__proto__' }).waitFor();
    await page.getByRole('tab', { name: 'Details' }).click();
    await page.getByText('sandbox-decision-2026-11-01').waitFor();
    await page.getByRole('tab', { name: 'JSON' }).click();
    const json = await page.getByRole('region', { name: 'Response as JSON' }).textContent();
    const { answers } = JSON.parse(json ?? '') as { answers: object };
    expect(Object.keys(answers).toSorted()).toEqual(['__proto__', 'urgency', 'wants_refund']);

    await page.getByRole('group', { name: 'Edit questions as' }).getByText('JSON').click();
    const editor = page.getByLabel('Questions as JSON');
    const written = new Map(Object.entries<{ criteria: object }>(JSON.parse(await editor.inputValue())));
    expect(Object.keys(written.get('__proto__')?.criteria ?? {})).toEqual(['technical', 'billing', 'sales']);
    await editor.fill('{"a": {"type": "score", "instructions": "x", "criteria": ["one"]}}');
    await page.getByText('a › criteria: Add at least two levels.', { exact: true }).waitFor();
    await page.getByRole('group', { name: 'Edit questions as' }).getByText('Form').click();
    await page.getByText('once the JSON is valid').waitFor();
    await page.getByLabel('State as JSON').fill('[]');
    await page.getByText('The state must be an object').waitFor();
    expectNoComplaints(watched);
    await watched.close();
  }, 60_000);

  test('have tabs that follow the arrow keys and name their panel', async () => {
    const watched = await enter('/decisions', deciding);
    const { page } = watched;
    await page.getByRole('button', { name: 'Run' }).click();
    const tab = (name: string) => page.getByRole('tab', { name, selected: true });
    await tab('Answers').press('ArrowRight');
    await tab('Details').waitFor();
    expect(await page.locator('[role=tab]:focus').textContent()).toBe('Details');
    await page.getByRole('tabpanel', { name: 'Details' }).getByText('Provider request ID').waitFor();
    await tab('Details').press('End');
    await page.getByRole('tabpanel', { name: 'JSON' }).waitFor();
    await tab('JSON').press('ArrowRight');
    await page.getByRole('tabpanel', { name: 'Answers' }).waitFor();
    // One stop for the Tab key: from the tabs it leads to the panel.
    expect(await page.locator('[role=tab][tabindex="0"]').count()).toBe(1);
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement?.role')).toBe('tabpanel');
    expectNoComplaints(watched);
    await watched.close();
  }, 60_000);

  test('are made about the state as it is written, to the last digit', async () => {
    const watched = await enter('/decisions', deciding);
    const { page } = watched;
    const state = '{"id": 12345678901234567890, "rate": 1.10}';
    await page.getByLabel('State as JSON').fill('{"id": 1, "a": {"b": 1, "b": 2}}');
    await page.getByText('The name “b” appears twice in one object.').waitFor();
    expect(await page.getByRole('button', { name: 'Run' }).isDisabled()).toBe(true);
    await page.getByLabel('State as JSON').fill(state);
    await page.getByRole('group', { name: 'Edit questions as' }).getByText('JSON').click();
    const questions = '{ "a": {"type":"noul", "instructions":"\\u0041?"} }';
    await page.getByLabel('Questions as JSON').fill(questions);
    const sending = page.waitForRequest('**/api/decisions/run');
    await page.getByRole('button', { name: 'Run' }).click();
    const sent = (await sending).postData() ?? '';
    expect(sent).toContain(`"state":${state}`);
    expect(sent).toContain(`"questions":${questions}`);
    await page.getByRole('heading', { name: 'a', exact: true }).waitFor();
    expectNoComplaints(watched);
    await watched.close();
  }, 60_000);

  test('after the session has ended lead to the sign-in', async () => {
    const watched = await enter('/decisions', deciding);
    const { page } = watched;
    await page.getByRole('button', { name: 'Run' }).waitFor();
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'Run' }).click();
    await page.waitForURL('**/sign-in?next=*');
    expect(new URL(page.url()).searchParams.get('next')).toBe(`/decisions?account=${fixture.account}`);
    expectNoComplaints(watched);
    await watched.close();
  }, 60_000);

  test('that fail say what to do, and can be cancelled', async () => {
    const watched = await enter('/decisions', deciding);
    const { page } = watched;
    await page.getByLabel('Start from an example').selectOption('quality');
    const instructions = page.getByLabel('Instructions');
    const run = page.getByRole('button', { name: 'Run' });
    await instructions.fill('How? [[status 429]] [[retry-after 2]]');
    await run.click();
    await page.getByText(/You can run it again in [12] s\./).waitFor();
    expect(await run.isDisabled()).toBe(true);
    await page.getByText('You can run it again now.').waitFor();
    await instructions.fill('How? [[status 422]]');
    await run.click();
    await page.getByText('Rephrase the questions or the criteria.').waitFor();
    await instructions.fill('How? [[hang]]');
    await run.click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await run.waitFor();
    expectNoComplaints(watched);
    await watched.close();
  }, 60_000);

  test('without a provider say what the operator must set', async () => {
    const watched = await enter('/decisions');
    await watched.page.getByText('Decisions are not set up on this gateway').waitFor();
    await watched.page.getByText('DECISIONS_BASE_URL').waitFor();
    await watched.close();
  }, 60_000);
});

test('a filled page can be used by everyone', async () => {
  const watched = await enter('/playground?model=full', deciding);
  const { page } = watched;
  await page.getByRole('button', { name: 'Insert example' }).click();
  await say(page, 'Weather? [[tool get_weather]]');
  await page.getByLabel('Result of get_weather').waitFor();
  await page.getByText('Cost').waitFor();
  await checkLooks(page, 'playground');
  await page.getByText('Code', { exact: true }).click();
  await checkLooks(page, 'playground-code');
  await visit(page, '/decisions');
  await page.getByRole('button', { name: 'Run' }).press('Enter');
  await page.getByRole('heading', { name: 'urgency' }).waitFor();
  await checkLooks(page, 'decisions');
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);
