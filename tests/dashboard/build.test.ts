/** How the dashboard is built and kept: never stale, never incomplete, and by several processes at once. */
import { beforeAll, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { type Files, readFiles, stampOf, storeFiles } from '../../dashboard/build/dist.ts';
import { candidatesIn } from '../../dashboard/build/style.ts';
import { buildDashboard, describeFiles } from '../../dashboard/build.ts';
import { openDashboard } from '../../src/dashboard/open.ts';
import { appPaths } from '../../src/dashboard/paths.ts';
import { createLog } from '../../src/lib/log.ts';
import { temporaryFolder } from '../support/gateway.ts';

const text = (content: string) => new TextEncoder().encode(content);
const some: Files = new Map([
  ['index.html', text('<p>one</p>')],
  ['main-1.js', text('one()')],
]);

/** A folder like the dashboard's, with a lock file next to it. */
function sources(): string {
  const folder = join(temporaryFolder(), 'dashboard');
  mkdirSync(join(folder, 'kit'), { recursive: true });
  writeFileSync(join(folder, 'main.tsx'), 'one');
  writeFileSync(join(folder, 'kit/button.tsx'), 'two');
  writeFileSync(join(folder, '../package-lock.json'), '{}');
  return folder;
}

test('a build is reported in one line, with each file counted once', () => {
  const files = new Map([...some, ['main-1.js.gz', new Uint8Array(2_000)]]);
  expect(describeFiles(files)).toBe('The dashboard is built: 2 files, 2 KB as they are sent.');
});

describe('the stamp', () => {
  test('is the same for the same sources, whatever was built from them', async () => {
    const folder = sources();
    const stamp = await stampOf(folder);
    await storeFiles(folder, stamp, some);
    expect(await stampOf(folder)).toBe(stamp);
    expect(stamp).toMatch(/^[0-9a-f]{32}$/);
  });

  test.each([
    ['another content', (folder: string) => writeFileSync(join(folder, 'kit/button.tsx'), 'TWO')],
    ['another file', (folder: string) => writeFileSync(join(folder, 'kit/new.tsx'), '')],
    ['one file less', (folder: string) => rmSync(join(folder, 'main.tsx'))],
    ['other packages', (folder: string) => writeFileSync(join(folder, '../package-lock.json'), '{ }')],
    [
      'content that moved from one file to the next',
      (folder: string) => {
        writeFileSync(join(folder, 'kit/button.tsx'), '');
        writeFileSync(join(folder, 'main.tsx'), 'twoone');
      },
    ],
  ])('differs after %s', async (_, change) => {
    const folder = sources();
    const before = await stampOf(folder);
    change(folder);
    expect(await stampOf(folder)).not.toBe(before);
  });
});

describe('what is kept', () => {
  test('is read again as it was, by its stamp only', async () => {
    const folder = sources();
    await storeFiles(folder, 'a', some);
    expect(await readFiles(folder, 'a')).toEqual(some);
    expect(await readFiles(folder, 'b')).toBeNull();
  });

  test('takes the place of what other sources were built to', async () => {
    const folder = sources();
    await storeFiles(folder, 'a', some);
    await storeFiles(folder, 'b', some);
    expect(readdirSync(join(folder, 'dist'))).toEqual(['b']);
  });

  test('clears away drafts of processes that died, and leaves those that are being written', async () => {
    const folder = sources();
    for (const name of ['draft-old', 'draft-young'])
      mkdirSync(join(folder, 'dist', name), { recursive: true });
    const longAgo = new Date(Date.now() - 86_400_000);
    utimesSync(join(folder, 'dist/draft-old'), longAgo, longAgo);
    await storeFiles(folder, 'a', some);
    expect(readdirSync(join(folder, 'dist')).toSorted()).toEqual(['a', 'draft-young']);
  });

  test('is whole, and there once, when many keep it at the same time', async () => {
    const folder = sources();
    await Promise.all(Array.from({ length: 16 }, () => storeFiles(folder, 'a', some)));
    expect(readdirSync(join(folder, 'dist'))).toEqual(['a']);
    expect(await readFiles(folder, 'a')).toEqual(some);
  });

  test('an empty folder is nothing', async () => {
    const folder = sources();
    mkdirSync(join(folder, 'dist/a'), { recursive: true });
    expect(await readFiles(folder, 'a')).toBeNull();
  });

  // Root may write everywhere, so there a file stands in the way.
  test('a place that cannot be written is an error, and leaves nothing behind', async () => {
    const folder = sources();
    writeFileSync(join(folder, 'dist'), '');
    chmodSync(folder, 0o555);
    expect(async () => await storeFiles(folder, 'a', some)).toThrow();
    chmodSync(folder, 0o755);
    expect(readFileSync(join(folder, 'dist'), 'utf8')).toBe('');
  });
});

describe('opening', () => {
  test('builds once for the same sources', async () => {
    const folder = sources();
    const { log, events } = recordingLog();
    let builds = 0;
    const build = async () => {
      builds += 1;
      return some;
    };
    expect(await openDashboard(log, folder, build)).toEqual(some);
    expect(await openDashboard(log, folder, build)).toEqual(some);
    expect([builds, events]).toEqual([1, ['dashboard built']]);
    writeFileSync(join(folder, 'main.tsx'), 'changed');
    await openDashboard(log, folder, build);
    expect(builds).toBe(2);
  });

  test('where nothing can be kept, it is served from memory', async () => {
    const folder = sources();
    writeFileSync(join(folder, 'dist'), '');
    const { log, events } = recordingLog();
    expect(await openDashboard(log, folder, async () => some)).toEqual(some);
    expect(events).toEqual([
      'dashboard built',
      'dashboard not stored: it will be built again at the next start',
    ]);
  });

  test('a build that fails is an error, and leaves nothing behind', async () => {
    const folder = sources();
    const fail = async () => {
      throw new Error('broken sources');
    };
    expect(async () => await openDashboard(recordingLog().log, folder, fail)).toThrow('broken sources');
    expect(existsSync(join(folder, 'dist'))).toBe(false);
  });

  function recordingLog() {
    const lines: string[] = [];
    const log = createLog('info', (line) => lines.push((JSON.parse(line) as { event: string }).event));
    return { log, events: lines };
  }
});

describe('a build', () => {
  let files: Files;
  beforeAll(async () => {
    files = await buildDashboard();
  });

  const content = (name: string) => new TextDecoder().decode(files.get(name) ?? new Uint8Array());

  test('gives the same names to the same content', async () => {
    expect([...(await buildDashboard()).keys()].toSorted()).toEqual([...files.keys()].toSorted());
  });

  test('has one layout at each width, also where it changes', () => {
    const [, bytes] = [...files].find(([name]) => name.endsWith('.css')) ?? [];
    const css = new TextDecoder().decode(bytes);
    expect(css).toContain('@media (width<48rem)');
    expect(css).toContain('@media (min-width:48rem)');
    expect(css).not.toMatch(/@media[^{]*max-width/);
  });

  test('leaves no place of the page empty, and names only files that are there', () => {
    const page = content('index.html');
    expect(page).not.toContain('{{');
    const named = [...page.matchAll(/"\/assets\/([^"]+)"/g)].map(([, name = '']) => name);
    expect(named.filter((name) => !files.has(name))).toEqual([]);
  });

  test('has packed forms that are the plain ones', () => {
    const packed = [...files].filter(([name]) => name.endsWith('.gz'));
    expect(packed.length).toBeGreaterThan(5);
    for (const [name, bytes] of packed)
      expect(Buffer.compare(Bun.gunzipSync(bytes), files.get(name.slice(0, -'.gz'.length)) ?? text(''))).toBe(
        0,
      );
  });

  test('is below 200 kB for the first page, with its fonts, as browsers get it', () => {
    const needed = new Set<string>();
    const need = (name: string) => {
      if (needed.has(name)) return;
      needed.add(name);
      if (!/\.(html|css|js)$/.test(name)) return;
      for (const [, next = ''] of content(name).matchAll(
        /(?:(?:href|src)=|from|import|url\()"?\/assets\/([\w.-]+)/g,
      ))
        need(next);
    };
    need('index.html');
    need([...files.keys()].find((name) => /^overview-page-\w+\.js$/.test(name)) ?? '');
    const sizes = [...needed].map(
      (name) => (files.get(`${name}.br`) ?? files.get(name))?.length ?? Number.NaN,
    );
    expect([...needed].filter((name) => name.endsWith('.woff2'))).toHaveLength(2);
    expect(needed.size).toBeGreaterThan(10);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(200_000);
  });

  test('is made for people: nothing of the developers’ React is in it', () => {
    const scripts = [...files.keys()].filter((name) => name.endsWith('.js'));
    expect(scripts.length).toBeGreaterThan(appPaths.length / 2);
    for (const name of scripts) {
      expect(content(name)).not.toContain('react.development');
      expect(content(name)).not.toContain('jsxDEV');
    }
  });

  test('has the classes that the sources name, those of every form', () => {
    const style = content([...files.keys()].find((name) => name.endsWith('.css')) ?? '');
    for (const part of [
      '.bg-accent',
      '.max-md\\:block',
      '.hover\\:bg-hover',
      '\\[\\&\\>svg\\]',
      ...[1, 2, 3, 4, 5, 6].map((number) => `--color-chart-${number}:`),
    ])
      expect(style).toContain(part);
  });

  test('has a page for every address that the gateway serves', () => {
    const router = readFileSync(join(import.meta.dir, '../../dashboard/router.tsx'), 'utf8');
    const leaves = [...router.matchAll(/getParentRoute: \(\) => (\w+), path: '([^']+)'/g)];
    const paths = leaves.map(([, parent = '', path = '']) => {
      const start = parent === 'ofOperator' ? '/operator' : '';
      return path === '/' ? start || '/' : `${start}/${path.replace('$', ':')}`;
    });
    expect(paths.toSorted()).toEqual([...appPaths].toSorted());
  });
});

describe('candidates for classes', () => {
  test('are found however they are written', () => {
    const source =
      '<div className="p-4 md:grid-cols-[auto_1fr]">{isOn ? \'bg-(--x)/50\' : `-mt-1 flex`}</div> [&>svg]:size-4';
    expect(candidatesIn(source)).toEqual(
      expect.arrayContaining(['p-4', 'md:grid-cols-[auto_1fr]', 'bg-(--x)/50', '-mt-1', '[&>svg]:size-4']),
    );
  });

  test('code in brackets is none', () => {
    expect(candidatesIn('[key:string] [name:x]')).toEqual([]);
  });

  test('have no spaces or quotes, and each is there once', () => {
    fc.assert(
      fc.property(fc.string(), (source) => {
        const words = candidatesIn(source);
        expect(words.filter((word) => /[\s"'`]/.test(word))).toEqual([]);
        expect(new Set(words).size).toBe(words.length);
      }),
    );
  });
});
