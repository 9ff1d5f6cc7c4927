import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

/** The rules of STYLE.md that a machine can hold. */

const ROOT = join(import.meta.dirname, '..');

/** What starts the program or is read from outside: nothing in src/ imports these. */
const ENTRIES = ['src/cli/main.ts', 'src/cli/start.ts', 'src/index.ts'];

/** What each part may import of ours. Not listed: the files directly in src/, which are the verbs and what they share. */
const MAY: Record<string, string[]> = {
  'errors.ts': [],
  'port.ts': [],
  model: ['model'],
  'fingerprint.ts': [],
  'clock.ts': ['model'],
  'durable.ts': ['errors.ts', 'port.ts'],
  'process-identity.ts': ['errors.ts', 'port.ts'],
  json: ['json', 'errors.ts', 'port.ts'],
  child: ['child', 'errors.ts', 'port.ts'],
  schedulers: ['schedulers', 'errors.ts', 'model'],
  media: ['media', 'child', 'errors.ts', 'model'],
  providers: ['providers', 'media', 'child', 'errors.ts', 'port.ts', 'model'],
  store: ['store', 'json', 'durable.ts', 'fingerprint.ts', 'errors.ts', 'port.ts', 'model'],
  // The port to this machine: an adapter, put together with the rest in cli/ only.
  'node-port.ts': ['store', 'process-identity.ts', 'port.ts'],
};
/** Verbs, and the loop they run: the contracts of store and providers, never an implementation. */
const VERBS_MAY = [
  ...['store/store.ts', 'providers/provider.ts', 'providers/built-in.ts', 'port.ts', 'errors.ts'],
  ...['model', 'json', 'durable.ts', 'fingerprint.ts', 'spend', 'doctor', 'verbs'],
];
/** Packages that the pure model may use. */
const MODEL_PACKAGES = /^(zod\/|date-fns\/|@date-fns\/tz$|canonicalize$)/;

/** Where something that a test cannot control is allowed, and nowhere else. */
const HOMES: Record<string, string[]> = {
  process: ['src/cli/', 'src/node-port.ts', 'src/process-identity.ts', 'src/child/child.ts', 'src/clock.ts'],
  'Date.now': ['src/node-port.ts', 'src/store/file/lock.ts'],
  'new Date()': ['src/store/file/lock.ts'],
  'Math.random': ['src/store/file/lock.ts'],
  console: [],
  fetch: [],
};

const FILE_SYSTEM_HOMES = [
  'src/store/file/node-disk.ts', // the disk of the port
  'src/store/file/lock.ts', // proper-lockfile works on the real one
  'src/process-identity.ts', // /proc
  'src/credentials.ts',
  'src/media/', // films are made, read and hashed as files
  'src/providers/local/',
  'src/providers/exec/',
  'src/providers/http/', // results are written as they come
  'src/providers/certify/', // in a temporary directory, never in the show
  'src/cli/',
];

/** Longer than 250 lines, each with its reason. */
const LONG: Record<string, string> = {
  'src/errors.ts': 'the one catalogue of errors: a code, its message and its hints stand together',
  'src/providers/certify/http-bench.ts': 'what every trial shares',
  'src/providers/certify/http-submit.ts': 'a list of trials',
};

interface Source {
  file: string;
  text: string;
  tree: ts.SourceFile;
  /** `atOnce`: when the file is loaded, neither late nor only as types. */
  imports: { names: string[]; from: string; packaged: boolean; atOnce: boolean }[];
  exports: string[];
}

function filesOf(directory: string): string[] {
  return readdirSync(join(ROOT, directory), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|mts|mjs|js)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1));
}

function read(file: string): Source {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const tree = ts.createSourceFile(file, text, ts.ScriptTarget.ES2022, true);
  const imports: Source['imports'] = [];
  const exports: string[] = [];
  const add = (specifier: string, names: string[], atOnce = false): void => {
    const packaged = !specifier.startsWith('.');
    imports.push({ names, packaged, atOnce, from: packaged ? specifier : normalize(join(dirname(file), specifier)) });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) {
      const bindings = node.importClause?.namedBindings;
      const named = bindings && ts.isNamedImports(bindings) ? bindings.elements : [];
      add(
        (node.moduleSpecifier as ts.StringLiteral).text,
        named.map((one) => (one.propertyName ?? one.name).text),
        node.importClause?.isTypeOnly !== true,
      );
    } else if (ts.isExportDeclaration(node)) {
      const names = node.exportClause && ts.isNamedExports(node.exportClause) ? node.exportClause.elements : [];
      if (node.moduleSpecifier) {
        add(
          (node.moduleSpecifier as ts.StringLiteral).text,
          names.map((one) => (one.propertyName ?? one.name).text),
        );
      } else exports.push(...names.map((one) => one.name.text));
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [specifier] = node.arguments;
      if (specifier && ts.isStringLiteral(specifier)) add(specifier.text, destructured(node));
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      add((node.argument.literal as ts.StringLiteral).text, []);
    }
    if (ts.canHaveModifiers(node) && ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) {
      exports.push(...declared(node));
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return { file, text, tree, imports, exports };
}

/** `const { a, b } = await import(…)` uses a and b; `(await import(…)).a` uses a; anything else might use all. */
function destructured(call: ts.CallExpression): string[] {
  let node: ts.Node = call.parent;
  while (ts.isAwaitExpression(node) || ts.isParenthesizedExpression(node)) node = node.parent;
  if (ts.isPropertyAccessExpression(node)) return [node.name.text];
  if (!ts.isVariableDeclaration(node) || !ts.isObjectBindingPattern(node.name)) return ['*'];
  return node.name.elements.map((element) => (element.propertyName ?? element.name).getText());
}

function declared(node: ts.Node): string[] {
  if (ts.isVariableStatement(node)) return node.declarationList.declarations.map(({ name }) => name.getText());
  return 'name' in node && node.name ? [(node.name as ts.Identifier).text] : [];
}

const sources = filesOf('src').map(read);
const tests = filesOf('test').map(read);

/** `model/week.ts` -> `model`; a file directly in src/ is itself, or one of the verbs. */
function partOf(file: string): string {
  const path = file.replace(/^src\//, '');
  if (path.includes('/')) return path.slice(0, path.indexOf('/'));
  return path in MAY ? path : 'verbs';
}

describe('imports run one way', () => {
  it('bin -> cli -> verbs -> model; implementations are known to cli/ alone, and cli/ to nobody', () => {
    const wrong = sources.flatMap(({ file, imports }) =>
      imports
        .filter(({ packaged, from }) => !packaged && !mayImport(file, from))
        .map(({ from }) => `${file} -> ${from}`),
    );
    expect(wrong).toEqual([]);
  });

  function mayImport(file: string, from: string): boolean {
    const part = partOf(file);
    if (part === 'cli' || file === 'src/index.ts') return partOf(from) !== 'cli' || part === 'cli';
    const allowed = MAY[part] ?? VERBS_MAY;
    return allowed.includes(partOf(from)) || allowed.includes(from.replace(/^src\//, ''));
  }

  it('the model knows zod, date-fns, canonicalize and itself', () => {
    const wrong = sources
      .filter(({ file }) => partOf(file) === 'model')
      .flatMap(({ file, imports }) => imports.map(({ from, packaged }) => ({ file, from, packaged })))
      .filter(({ from, packaged }) => packaged && !MODEL_PACKAGES.test(from));
    expect(wrong).toEqual([]);
  });

  it('nothing imports itself in a circle; types and what is loaded late may look back', () => {
    const next = new Map(sources.map(({ file, imports }) => [file, imports.filter(({ atOnce }) => atOnce)]));
    const circles: string[] = [];
    const done = new Set<string>();
    const visit = (file: string, path: string[]): void => {
      if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
      else if (!done.has(file)) for (const { from } of next.get(file) ?? []) visit(from, [...path, file]);
      done.add(file);
    };
    for (const { file } of sources) visit(file, []);
    expect(circles).toEqual([]);
  });

  it('with the extension of the file', () => {
    const wrong = [...sources, ...tests].flatMap(({ file, imports }) =>
      imports
        .filter(({ packaged, from }) => !packaged && !/\.(ts|json|mjs)$/.test(from))
        .map(({ from }) => `${file} -> ${from}`),
    );
    expect(wrong).toEqual([]);
  });
});

describe('what a test cannot control has a home', () => {
  it.each(Object.keys(HOMES))('%s', (what) => {
    const wrong = sources
      .filter(({ file }) => !HOMES[what]!.some((home) => file.startsWith(home)))
      .flatMap(({ file, tree }) => uses(tree, what).map((line) => `${file}:${line}`));
    expect(wrong).toEqual([]);
  });

  function uses(tree: ts.SourceFile, what: string): number[] {
    const found: number[] = [];
    const visit = (node: ts.Node): void => {
      if (isUse(node, what)) found.push(tree.getLineAndCharacterOfPosition(node.getStart()).line + 1);
      ts.forEachChild(node, visit);
    };
    visit(tree);
    return found;
  }

  function isUse(node: ts.Node, what: string): boolean {
    if (what === 'new Date()') return ts.isNewExpression(node) && node.getText() === 'new Date()';
    if (what.includes('.')) return ts.isPropertyAccessExpression(node) && node.getText() === what;
    if (!ts.isIdentifier(node) || node.text !== what) return false;
    const { parent } = node;
    // The object of an access, or what is called: not a field, a parameter or a type of the same name.
    return (
      (ts.isPropertyAccessExpression(parent) || ts.isCallExpression(parent)) &&
      parent.expression === node &&
      !isShadowed(node)
    );
  }

  /** Whether a parameter or a constant of the same name stands around it. */
  function isShadowed(node: ts.Identifier): boolean {
    for (let scope: ts.Node = node; scope.parent; scope = scope.parent) {
      if (ts.isFunctionLike(scope) && scope.parameters.some(({ name }) => names(name).includes(node.text))) return true;
      if (ts.isBlock(scope) || ts.isSourceFile(scope)) {
        const declarations = scope.statements
          .filter(ts.isVariableStatement)
          .flatMap((one) => [...one.declarationList.declarations]);
        if (declarations.some(({ name }) => names(name).includes(node.text))) return true;
      }
    }
    return false;
  }

  const names = (name: ts.BindingName): string[] =>
    ts.isIdentifier(name)
      ? [name.text]
      : name.elements.flatMap((one) => (ts.isBindingElement(one) ? names(one.name) : []));

  it('the file system', () => {
    const wrong = sources
      .filter(({ file }) => !FILE_SYSTEM_HOMES.some((home) => file.startsWith(home)))
      .filter(({ imports }) => imports.some(({ from }) => /^node:fs/.test(from)));
    expect(wrong.map(({ file }) => file)).toEqual([]);
  });

  it('and every home is lived in', () => {
    const homes = [...new Set([...Object.values(HOMES).flat(), ...FILE_SYSTEM_HOMES])];
    expect(homes.filter((home) => !sources.some(({ file }) => file.startsWith(home)))).toEqual([]);
  });
});

describe('nothing is left over', () => {
  it('every file is imported', () => {
    const imported = new Set(sources.flatMap(({ imports }) => imports.map(({ from }) => from)));
    const orphans = sources.filter(({ file }) => !imported.has(file) && !ENTRIES.includes(file));
    expect(orphans.map(({ file }) => file)).toEqual([]);
    expect(ENTRIES.filter((entry) => !sources.some(({ file }) => file === entry))).toEqual([]);
  });

  it('every export is used outside its file; a test is no user, but what tests are built of is', () => {
    const used = new Set<string>();
    for (const { file, imports } of [...sources, ...tests]) {
      if (file.endsWith('.test.ts')) continue;
      for (const { from, names } of imports) for (const name of names) used.add(`${from}#${name}`);
    }
    const unused = sources
      .filter(({ file }) => !ENTRIES.includes(file))
      .flatMap(({ file, exports }) => exports.map((name) => `${file}#${name}`))
      // A verb's module is called by its one export, `verb`, through the table of verbs.
      .filter((name) => !/^src\/cli\/commands\/.*#verb$/.test(name))
      .filter((name) => !used.has(name) && !used.has(name.replace(/#.*/, '#*')));
    expect(unused).toEqual([]);
  });

  it('no test is focused, and none is skipped without its reason in the title', () => {
    const lines = tests
      .filter(({ file }) => file !== 'test/tidy.test.ts')
      .flatMap(({ file, text }) => text.split('\n').map((line) => ({ file, line })));
    expect(lines.filter(({ line }) => /\b(it|describe|test)\.only\b/.test(line))).toEqual([]);
    expect(lines.filter(({ line }) => /\b(it|describe|test)\.(skip|todo)\(/.test(line))).toEqual([]);
  });

  it('no note to oneself, and no way around the types', () => {
    const forbidden = /\b(TODO|FIXME|XXX|HACK)\b|\bas any\b|@ts-(ignore|nocheck|expect-error)|eslint-disable/;
    const all = [...sources, ...tests].filter(({ file }) => file !== 'test/tidy.test.ts');
    const wrong = all.flatMap(({ file, text }) =>
      text
        .split('\n')
        .filter((line) => forbidden.test(line))
        .map((line) => `${file}: ${line.trim()}`),
    );
    expect(wrong).toEqual([]);
  });

  it('no file is longer than 250 lines without a reason', () => {
    const long = sources.filter(({ text }) => text.split('\n').length > 251).map(({ file }) => file);
    expect(long.filter((file) => !(file in LONG))).toEqual([]);
    expect(Object.keys(LONG).filter((file) => !long.includes(file))).toEqual([]);
  });

  it('no file is a drawer for what has no place', () => {
    const drawers = sources.filter(({ file }) =>
      /(^|\/)(utils?|helpers?|services|common|core|types|misc)(\/|\.ts$)/.test(file),
    );
    expect(drawers.map(({ file }) => file)).toEqual([]);
  });
});

it('index.ts is a table of contents: every line says what it is', () => {
  const { text } = sources.find(({ file }) => file === 'src/index.ts')!;
  const entries = text.split('\n').filter((line) => line.includes(" from '"));
  expect(entries.length).toBeGreaterThan(20);
  expect(entries.filter((line) => !/; \/\/ \S/.test(line))).toEqual([]);
});
