/** The clients that npm run test:clients points at a gateway, with their exact versions. */
export type Client = Readonly<{
  name: string;
  /** As the matrix shows it; null for a client installed on the machine, which is asked for its version. */
  version: string | null;
  /** The folder in tests/clients with its script. */
  language: 'shell' | 'python' | 'node' | 'go' | 'java' | 'rust';
  script: string;
  /** What pip installs for a script in Python or a program from there. */
  packages?: readonly string[];
}>;

const python = (name: string, script: string, requirement: string): Client => {
  const [version = ''] = requirement.split('==').slice(1);
  return { name, version, language: 'python', script: `${script}.py`, packages: [requirement] };
};

const program = (name: string, requirement: string): Client => ({
  ...python(name, name, requirement),
  language: 'shell',
  script: `${name}.sh`,
});

const node = (name: string, script: string, version: string): Client => ({
  name,
  version,
  language: 'node',
  script: `${script}.mjs`,
});

export const clients: readonly Client[] = [
  { name: 'curl', version: null, language: 'shell', script: 'curl.sh' },
  python('openai (Python)', 'openai-sdk', 'openai==3.49.0'),
  python('openai (Python), responses', 'openai-responses', 'openai==3.49.0'),
  node('openai (Node)', 'openai-sdk', '7.53.0'),
  node('openai (Node), responses', 'openai-responses', '7.53.0'),
  { name: 'openai (Go)', version: '3.91.0', language: 'go', script: 'openai-go' },
  { name: 'openai (Java)', version: '4.94.0', language: 'java', script: 'openai-java' },
  node('AI SDK, openai-compatible', 'ai-sdk-compatible', '3.0.90'),
  node('AI SDK, openai.chat()', 'ai-sdk-openai', '4.0.114'),
  node('AI SDK, openai()', 'ai-sdk-responses', '4.0.114'),
  node('AI SDK, anthropic()', 'ai-sdk-anthropic', '4.0.102'),
  python('anthropic (Python)', 'anthropic-sdk', 'anthropic==2.8.0'),
  node('anthropic (Node)', 'anthropic-sdk', '1.8.0'),
  python('LangChain (Python)', 'langchain', 'langchain-openai==1.7.3'),
  node('LangChain (JS)', 'langchain', '1.6.0'),
  python('LlamaIndex', 'llama-index', 'llama-index-llms-openai-like==0.8.1'),
  python('pydantic-ai', 'pydantic-ai', 'pydantic-ai-slim[openai]==2.66.0'),
  python('pydantic-ai, responses', 'pydantic-ai-responses', 'pydantic-ai-slim[anthropic,openai]==2.66.0'),
  python('pydantic-ai, anthropic', 'pydantic-ai-anthropic', 'pydantic-ai-slim[anthropic,openai]==2.66.0'),
  python('OpenAI Agents SDK', 'openai-agents', 'openai-agents==0.24.0'),
  python('OpenAI Agents SDK, responses', 'openai-agents-responses', 'openai-agents==0.24.0'),
  node('OpenAI Agents SDK (JS)', 'openai-agents', '0.20.0'),
  python('instructor', 'instructor-library', 'instructor==1.17.0'),
  python('LiteLLM', 'litellm-library', 'litellm==1.102.4'),
  program('llm', 'llm==0.36'),
  program('aider', 'aider-chat==0.86.2'),
  { name: 'go-openai', version: '1.43.0', language: 'go', script: 'go-openai' },
  { name: 'async-openai', version: '0.43.0', language: 'rust', script: 'async-openai' },
];

/** Clients for which only settings are documented, and why no script runs them. */
export const notRun: readonly Readonly<{ name: string; reason: string }>[] = [
  { name: 'openai (.NET)', reason: 'needs the .NET SDK (dotnet) and its package registry' },
  { name: 'Open WebUI', reason: 'an application with a browser interface' },
  { name: 'LibreChat', reason: 'an application with a browser interface' },
  { name: 'Continue', reason: 'an extension of an editor' },
  { name: 'Cline', reason: 'an extension of an editor' },
  { name: 'n8n', reason: 'an application with a browser interface' },
];
