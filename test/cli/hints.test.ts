import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import ts from 'typescript';
import { beforeAll, expect, it } from 'vitest';
import { VERBS } from '../../src/cli/verbs.ts';

/** A command that we tell a person to type at 23:40 exists: its verb, and every option of it. */

const ROOT = join(import.meta.dirname, '../..');

interface Named {
  /** `src/errors.ts:263`. */
  where: string;
  verb: string;
  options: string[];
}

let options: Map<string, Set<string>>;
let named: Named[];
beforeAll(async () => {
  const verbs = await Promise.all(
    Object.entries(VERBS).map(async ([name, { load }]) => {
      const command = new Command(name);
      (await load()).verb.define(command);
      return [name, new Set(command.options.map(({ long }) => long!))] as const;
    }),
  );
  options = new Map([...verbs, ['help', new Set<string>()]]);
  named = sources().flatMap(commandsIn);
});

const GLOBAL = new Set(['--root', '--json', '--quiet', '--help', '--version']);

const sources = (): string[] =>
  readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join('src', file));

/** Every command in the strings of a file: at the beginning of one, or after what introduces it. */
function commandsIn(file: string): Named[] {
  const tree = ts.createSourceFile(file, readFileSync(join(ROOT, file), 'utf8'), ts.ScriptTarget.ES2022, true);
  const found: Named[] = [];
  const visit = (node: ts.Node): void => {
    const text = textOf(node);
    for (const [, verb, rest] of text?.matchAll(/(?:^|: |; |, |then )episode ([a-z]+)((?: (?!then\b)[^;#]*)?)/g) ??
      []) {
      const line = tree.getLineAndCharacterOfPosition(node.getStart()).line + 1;
      found.push({ where: `${file}:${line}`, verb: verb!, options: rest!.match(/--[a-z][a-z0-9-]*/g) ?? [] });
    }
    if (text === null) ts.forEachChild(node, visit);
    else if (ts.isTemplateExpression(node)) for (const span of node.templateSpans) visit(span.expression);
  };
  visit(tree);
  return found;
}

/** A string with `X` for what is put into it; `null` for what is no string. */
function textOf(node: ts.Node): string | null {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return null;
  return node.head.text + node.templateSpans.map(({ literal }) => `X${literal.text}`).join('');
}

it('has a verb that exists', () => {
  expect(named.length).toBeGreaterThan(60);
  expect(named.filter(({ where }) => where.startsWith('src/errors.ts:')).length).toBeGreaterThan(20);
  expect(named.filter(({ verb }) => !options.has(verb))).toEqual([]);
});

it('has options that exist', () => {
  const wrong = named.flatMap(({ where, verb, options: given }) =>
    given.filter((one) => !options.get(verb)?.has(one) && !GLOBAL.has(one)).map((one) => `${where}: ${verb} ${one}`),
  );
  expect(wrong).toEqual([]);
});
