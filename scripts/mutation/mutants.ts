/** Every small change to a source file that its tests ought to notice. */
import { type Node, type SourceFile, SyntaxKind } from 'typescript/unstable/ast';
import {
  isArrayLiteralExpression,
  isArrowFunction,
  isBinaryExpression,
  isBlock,
  isCallExpression,
  isCaseClause,
  isClassDeclaration,
  isConditionalExpression,
  isExpressionStatement,
  isForStatement,
  isFunctionDeclaration,
  isIdentifier,
  isIfStatement,
  isImportDeclaration,
  isMethodDeclaration,
  isNonNullExpression,
  isPostfixUnaryExpression,
  isPrefixUnaryExpression,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isTemplateExpression,
  isTypeNode,
  isVariableDeclaration,
  isWhileStatement,
} from 'typescript/unstable/ast/is';

export type Mutant = Readonly<{
  file: string;
  line: number;
  /** The function, method or constant that it is in. */
  within: string;
  /** The change, for people and for the list of equivalent mutants. */
  change: string;
  start: number;
  end: number;
  replacement: string;
}>;

type Edit = Readonly<{ start: number; end: number; replacement: string }>;

/** What replaces an operator: its opposite, or the comparison that differs at the boundary. */
const operators: Readonly<Record<string, readonly string[]>> = {
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '**': ['*'],
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '==': ['!='],
  '!=': ['=='],
  '&&': ['||'],
  '||': ['&&'],
  '??': ['&&'],
  '+=': ['-='],
  '-=': ['+='],
  '??=': ['='],
  '||=': ['='],
};

/** Calls that have a counterpart. */
const counterparts: Readonly<Record<string, string>> = {
  min: 'max',
  max: 'min',
  floor: 'ceil',
  ceil: 'floor',
  some: 'every',
  every: 'some',
  startsWith: 'endsWith',
  endsWith: 'startsWith',
  indexOf: 'lastIndexOf',
  findLastIndex: 'findIndex',
  toLowerCase: 'toUpperCase',
};

/** Calls that can be left out: `text.trim()` becomes `text`. */
const omissible = new Set(['trim', 'slice', 'filter', 'toSorted', 'toReversed', 'toWellFormed', 'subarray']);

export function mutantsOf(file: string, source: SourceFile): readonly Mutant[] {
  const { text } = source;
  const mutants: Mutant[] = [];
  const visit = (node: Node, within: string): void => {
    if (isImportDeclaration(node) || isTypeNode(node) || isTypeDeclaration(node)) return;
    const inner = nameOf(node, within);
    for (const edit of editsOf(node, text)) mutants.push(mutantOf(file, text, inner, edit));
    node.forEachChild((child) => visit(child, inner));
  };
  visit(source, '');
  return mutants;
}

function isTypeDeclaration({ kind }: Node): boolean {
  return kind === SyntaxKind.TypeAliasDeclaration || kind === SyntaxKind.InterfaceDeclaration;
}

/** Nested functions count as part of the outer one. */
function nameOf(node: Node, outer: string): string {
  if (isClassDeclaration(node)) return node.name?.getText() ?? outer;
  if (isMethodDeclaration(node)) return `${outer}.${node.name.getText()}`;
  if (node.kind === SyntaxKind.Constructor) return `${outer}.constructor`;
  if (outer !== '') return outer;
  if (isFunctionDeclaration(node) || isVariableDeclaration(node)) return node.name?.getText() ?? outer;
  return outer;
}

function mutantOf(file: string, text: string, within: string, edit: Edit): Mutant {
  const line = text.slice(0, edit.start).split('\n').length;
  return { file, line, within, change: describe(text, edit), ...edit };
}

const maxShown = 100;

/** The whole line with the change in it, so that no two changes of a function look alike. */
function describe(text: string, { start, end, replacement }: Edit): string {
  const from = text.lastIndexOf('\n', start) + 1;
  const to = text.indexOf('\n', start);
  const shown = (piece: string) => {
    const flat = piece.replace(/\s+/g, ' ');
    return flat.length > maxShown ? `${flat.slice(0, maxShown)}…` : flat;
  };
  const before = text.slice(from, start).trimStart();
  const after = end < to ? text.slice(end, to) : '';
  return `${before}⟦${shown(text.slice(start, end))} → ${shown(replacement)}⟧${after.trimEnd()}`;
}

function replace(node: Node, replacement: string): Edit {
  return { start: node.getStart(), end: node.end, replacement };
}

function editsOf(node: Node, text: string): readonly Edit[] {
  const source = text.slice(node.getStart(), node.end);
  if (isBinaryExpression(node)) {
    const operator = node.operatorToken;
    return (operators[operator.getText()] ?? []).map((other) => replace(operator, other));
  }
  if (isPrefixUnaryExpression(node)) return unaryEdits(node, source);
  if (isPostfixUnaryExpression(node)) return [replace(node, flippedStep(source))];
  if (isIfStatement(node)) return decisions(node.expression);
  if (isConditionalExpression(node)) return decisions(node.condition);
  if (isWhileStatement(node)) return [replace(node.expression, 'false')];
  if (isForStatement(node)) return node.condition === undefined ? [] : [replace(node.condition, 'false')];
  if (isBlock(node)) return node.statements.length === 0 ? [] : [replace(node, '{}')];
  if (isExpressionStatement(node)) return [replace(node, ';')];
  if (isCaseClause(node)) return caseEdits(node);
  if (isArrowFunction(node)) return isBlock(node.body) ? [] : [replace(node.body, 'undefined')];
  if (isArrayLiteralExpression(node)) return node.elements.length === 0 ? [] : [replace(node, '[]')];
  if (isCallExpression(node)) return callEdits(node);
  if (isPropertyAccessExpression(node) && node.questionDotToken !== undefined)
    return [replace(node.questionDotToken, '.')];
  if (isNonNullExpression(node)) return [];
  return literalEdits(node, source);
}

function decisions(condition: Node): readonly Edit[] {
  return [replace(condition, 'true'), replace(condition, 'false')];
}

function unaryEdits(node: Node & { operand: Node }, source: string): readonly Edit[] {
  if (source.startsWith('!') || source.startsWith('-')) return [replace(node, node.operand.getText())];
  return source.startsWith('++') || source.startsWith('--') ? [replace(node, flippedStep(source))] : [];
}

function flippedStep(source: string): string {
  return source.includes('++') ? source.replace('++', '--') : source.replace('--', '++');
}

/** The case does nothing, and does not fall through to the next one. */
function caseEdits(node: Node & { statements: ArrayLike<Node> }): readonly Edit[] {
  const first = node.statements[0];
  return first === undefined ? [] : [{ start: first.getStart(), end: node.end, replacement: 'break;' }];
}

function callEdits(node: Node & { expression: Node }): readonly Edit[] {
  const callee = node.expression;
  if (!isPropertyAccessExpression(callee) || !isIdentifier(callee.name)) return [];
  const name = callee.name.text;
  const counterpart = Object.hasOwn(counterparts, name) ? counterparts[name] : undefined;
  return [
    ...(counterpart === undefined ? [] : [replace(callee.name, counterpart)]),
    ...(omissible.has(name) ? [replace(node, callee.expression.getText())] : []),
  ];
}

function literalEdits(node: Node, source: string): readonly Edit[] {
  switch (node.kind) {
    case SyntaxKind.TrueKeyword:
      return [replace(node, 'false')];
    case SyntaxKind.FalseKeyword:
      return [replace(node, 'true')];
    case SyntaxKind.NumericLiteral:
      return [replace(node, `${Number(source.replaceAll('_', '')) + 1}`)];
    case SyntaxKind.BigIntLiteral:
      return [replace(node, `${BigInt(source.replaceAll('_', '').slice(0, -1)) + 1n}n`)];
    case SyntaxKind.StringLiteral:
    case SyntaxKind.NoSubstitutionTemplateLiteral:
      return isName(node) || isProse(source) ? [] : [replace(node, source.length > 2 ? "''" : "'mutant'")];
    case SyntaxKind.RegularExpressionLiteral:
      return patternEdits(node, source);
    default:
      return isTemplateExpression(node) && !isProse(source) ? [replace(node, "''")] : [];
  }
}

function isName(node: Node): boolean {
  return isPropertyAssignment(node.parent) && node.parent.name === node;
}

/** Messages are for people: tests that repeat their words would only make them harder to improve. */
function isProse(source: string): boolean {
  return /[A-Za-z,.:] [A-Za-z$]/.test(source);
}

/** Without an anchor, with the opposite class, with a count one higher. */
function patternEdits(node: Node, source: string): readonly Edit[] {
  const end = source.lastIndexOf('/');
  const [pattern, flags] = [source.slice(1, end), source.slice(end)];
  const changed = [
    pattern.replace(/^\^/, ''),
    pattern.replace(/\$$/, ''),
    pattern.replace(/\\d/, '\\D'),
    pattern.replace(/\[(?!\^)/, '[^'),
    pattern.replace(/\{(\d+)/, (_all, least) => `{${Number(least) + 1}`),
    pattern.replace(/,(\d+)\}/, (_all, most) => `,${Number(most) + 1}}`),
  ];
  return [...new Set(changed)]
    .filter((other) => other !== pattern)
    .map((other) => replace(node, `/${other}${flags}`));
}
