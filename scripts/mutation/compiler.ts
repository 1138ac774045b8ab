/**
 * TypeScript's own parser and checker. Its interface may change with every version; the version is pinned, and only this
 * tool depends on it.
 */
import { join } from 'node:path';
import type { SourceFile } from 'typescript/unstable/ast';
import { API, type Program } from 'typescript/unstable/async';
import type { Mutant } from './mutants.ts';
import type { Tree } from './tree.ts';

export class Compiler {
  readonly #api: API;
  readonly #tree: Tree;

  constructor(tree: Tree) {
    this.#tree = tree;
    this.#api = new API({ cwd: tree.folder });
  }

  async parse(file: string): Promise<SourceFile> {
    const source = await (await this.#program([])).getSourceFile(this.#pathOf(file));
    if (source === undefined) throw new Error(`There is no file ${file}.`);
    return source;
  }

  /** Whether the mutant breaks a rule of the language, which `npm test` checks as well. */
  async rejects(mutant: Mutant): Promise<boolean> {
    const path = this.#pathOf(mutant.file);
    return await this.#tree.withMutant(mutant, async () => {
      const program = await this.#program([path]);
      return (await program.getSemanticDiagnostics(path)).length > 0;
    });
  }

  async close(): Promise<void> {
    await this.#api.close();
  }

  async #program(changed: string[]): Promise<Program> {
    const config = join(this.#tree.folder, 'tsconfig.json');
    const snapshot = await this.#api.updateSnapshot({ openProjects: [config], fileChanges: { changed } });
    const project = snapshot.getProject(config);
    if (project === undefined) throw new Error('tsconfig.json was not found.');
    return project.program;
  }

  #pathOf(file: string): string {
    return join(this.#tree.folder, file);
  }
}
