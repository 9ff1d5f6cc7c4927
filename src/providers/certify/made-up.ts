/** A value that no provider knows, with the characters that encodings treat differently. */
export const madeUp = (name: string, random: (bytes: number) => string): string =>
  `certify-"${name.slice(0, 20)}"/+=%41 ${random(12)}`;

/** What a provider on a bench calls a task. */
export const REF = 'certify-task';
/** What none ever called one. */
export const UNKNOWN_REF = 'certify-unknown-task';

const MIN_FORM = 8;

/** The ways in which a text may show a value: as it is, as URLs, forms and JSON write it, and inside longer base64. */
function formsOf(value: string): string[] {
  const base64 = [0, 1, 2].map((offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(value)]);
    return bytes.toString('base64').slice(Math.ceil((offset * 8) / 6), Math.floor((bytes.length * 8) / 6));
  });
  const url = encodeURIComponent(value);
  return [
    value,
    url,
    url.replace(/%../g, (code) => code.toLowerCase()),
    new URLSearchParams({ value }).toString().slice('value='.length),
    JSON.stringify(value).slice(1, -1),
    ...base64,
    ...base64.map((form) => form.replaceAll('+', '-').replaceAll('/', '_')),
  ];
}

/** Tells which of the values a text shows, and says all their forms at once, as a provider that quotes them might. */
export function watchFor(secrets: Readonly<Record<string, string>>) {
  const forms = Object.entries(secrets).flatMap(([name, value]) =>
    [...new Set(formsOf(value))].filter((form) => form.length >= MIN_FORM).map((form) => ({ name, form })),
  );
  return {
    leak: (text: string): string | null => {
      // What is printed as JSON has its quotes and backslashes escaped once more.
      const found = forms.find(({ form }) => text.includes(form) || text.includes(JSON.stringify(form).slice(1, -1)));
      return found ? found.name : null;
    },
    quote: (): string => forms.map(({ form }) => form).join(' '),
    /** The same where only ASCII without line ends may stand. */
    quoteInHeader: (): string => Object.values(secrets).map(encodeURIComponent).join(' '),
  };
}

/** All that an answer, an event or an error says, its causes included. */
export function everythingIn(value: unknown): string {
  const seen = new Set<unknown>();
  const texts: string[] = [];
  const visit = (node: unknown): void => {
    if (typeof node === 'string') texts.push(node);
    if (typeof node !== 'object' || node === null || seen.has(node)) return;
    seen.add(node);
    if (node instanceof Error) for (const part of [node.message, node.cause]) visit(part);
    for (const [key, inner] of Object.entries(node)) {
      texts.push(key);
      visit(inner);
    }
  };
  visit(value);
  return texts.join('\n');
}
