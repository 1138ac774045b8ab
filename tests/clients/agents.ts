/** The coding agents that npm run test:clients runs as the programs that they are, and how each is told what to do. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { knownPrefix } from './formats.ts';

export type Agent = Readonly<{
  name: string;
  /** Of its package in tests/clients/node/package.json. */
  version: string;
  /** What it does when something is wrong is read once for each program, so not with this one. */
  isVariant?: true;
  /** Stands before the IDs of the models that it calls. */
  modelPrefix: string;
  /** Files below its home that it reads, and what it is started with. */
  setUp: (settings: AgentSettings) => AgentStart;
  /** Makes a file with one tool call and changes it with the next. `hasCustomTools` is whether the provider has them. */
  task: (file: string, hasCustomTools: boolean) => string;
}>;

export type AgentSettings = Readonly<{
  origin: string;
  key: string;
  model: string;
  home: string;
  /** Whether it may retry as often as it does by default, which can take minutes. */
  retries: boolean;
}>;

export type AgentStart = Readonly<{
  program: 'claude' | 'codex';
  words: readonly string[];
  environment: Readonly<Record<string, string>>;
}>;

export const taskText = { first: 'one', last: 'two' } as const;
const [recipeOrigin, recipeModel] = ['http://127.0.0.1:8080', 'sandbox-chat'];

const claudeCode: Agent = {
  name: 'Claude Code',
  version: '2.1.325',
  modelPrefix: '',
  setUp: ({ origin, key, model, home, retries }) => {
    const settings = readFileSync(join(import.meta.dir, 'agents/claude-code-settings.json'), 'utf8')
      .replaceAll(recipeOrigin, origin)
      .replaceAll(recipeModel, model)
      .replaceAll('svc_sk_…', key);
    mkdirSync(join(home, '.claude'), { recursive: true });
    writeFileSync(join(home, '.claude/settings.json'), settings);
    return {
      program: 'claude',
      words: ['--dangerously-skip-permissions', '-p'],
      // It refuses to skip the questions as root anywhere but in a sandbox.
      environment: { IS_SANDBOX: '1', ...(!retries && { CLAUDE_CODE_MAX_RETRIES: '0' }) },
    };
  },
  task: (file) =>
    [
      call('tool', 'Write', { file_path: file, content: `${taskText.first}\n` }),
      call('next-tool', 'Edit', {
        file_path: file,
        old_string: taskText.first,
        new_string: taskText.last,
      }),
    ].join(' '),
};

const codex: Agent = {
  name: 'Codex',
  version: '0.166.0',
  modelPrefix: '',
  setUp: ({ origin, key, model, home, retries }) => {
    const config = readFileSync(join(import.meta.dir, 'agents/codex-config.toml'), 'utf8')
      .replaceAll(recipeOrigin, origin)
      .replaceAll(recipeModel, model);
    mkdirSync(join(home, '.codex'), { recursive: true });
    const noRetries = 'request_max_retries = 0\nstream_max_retries = 0\n';
    writeFileSync(join(home, '.codex/config.toml'), `${config}${retries ? '' : noRetries}`);
    return {
      program: 'codex',
      words: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'],
      environment: { TOLLGATE_KEY: key },
    };
  },
  task: (file) =>
    [
      call('tool', 'exec_command', { cmd: `echo ${taskText.first} > ${file}` }),
      call('next-tool', 'exec_command', {
        cmd: `sed -i s/${taskText.first}/${taskText.last}/ ${file} && echo updated`,
      }),
    ].join(' '),
};

/** With a model that it knows, it edits files with a custom tool, which takes free text instead of JSON. */
const codexWithKnownModel: Agent = {
  ...codex,
  name: 'Codex, known model ID',
  isVariant: true,
  modelPrefix: knownPrefix,
  task: (file, hasCustomTools) => {
    const patch = (directive: string, change: string) => {
      const text = `*** Begin Patch\n${change}\n*** End Patch`;
      return hasCustomTools
        ? `[[${directive} apply_patch ${text}]]`
        : call(directive, 'apply_patch', { input: text });
    };
    const { first, last } = taskText;
    return [
      patch('tool', `*** Add File: ${file}\n+${first}`),
      patch('next-tool', `*** Update File: ${file}\n@@\n-${first}\n+${last}`),
    ].join(' ');
  },
};

export const agents: readonly Agent[] = [claudeCode, codex, codexWithKnownModel];

function call(directive: string, tool: string, given: unknown): string {
  return `[[${directive} ${tool} ${JSON.stringify(given)}]]`;
}
