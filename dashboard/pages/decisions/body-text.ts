/**
 * The body of a decision, out of JSON as it was written. Read and written anew, numbers would lose the digits that
 * JavaScript has no room for, and a decision would be made about another state than the one in sight.
 */
export function bodyText(model: string, stateJson: string, questionsJson: string): string {
  return `{"model":${JSON.stringify(model)},"state":${stateJson},"questions":${questionsJson}}`;
}
