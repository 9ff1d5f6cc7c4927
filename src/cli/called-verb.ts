/** The first word that is not an option or the value of one of the options that may stand before the verb. */
export const calledVerb = (argv: readonly string[]): string | undefined =>
  argv.find((word, index) => !word.startsWith('-') && !['--root', '--now'].includes(argv[index - 1] ?? ''));
