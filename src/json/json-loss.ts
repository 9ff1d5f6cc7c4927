import { type AnyNode, parse } from '@humanwhocodes/momoa';

/** Whether `written` and what JavaScript writes for it are the same number; beyond 2^53 not even that says that it was meant. */
const isKept = (written: string, value: number): boolean =>
  significant(written) === significant(String(value)) && (!Number.isInteger(value) || Number.isSafeInteger(value));

/** A decimal number as its digits without zeros around them, and the power of ten of the last one. */
function significant(number: string): string {
  const [, whole, fraction = '', exponent = '0'] = /^-?(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(number)!;
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const kept = digits.replace(/0+$/, '');
  return kept === '' ? '0' : `${kept}e${Number(exponent) - fraction.length + digits.length - kept.length}`;
}

/** The first thing that `JSON.parse` would lose or change in this JSON text, as a sentence with its line; else `null`. */
export function findLoss(text: string): string | null {
  const at = (node: AnyNode): string => `line ${node.loc.start.line}`;

  const visit = (node: AnyNode): string | null => {
    switch (node.type) {
      case 'Document':
        return visit(node.body);
      case 'Array':
        return first(node.elements.map((element) => element.value));
      case 'Object': {
        const names = node.members.map((member) => (member.name.type === 'String' ? member.name.value : ''));
        const twice = names.findIndex((name, index) => names.indexOf(name) < index);
        if (twice >= 0) return `the field ${JSON.stringify(names[twice])} is there twice (${at(node.members[twice]!)})`;
        return first(node.members.map((member) => member.value));
      }
      case 'Number': {
        const written = text.slice(node.loc.start.offset, node.loc.end.offset);
        if (!Number.isFinite(node.value)) return `the number ${written} is too large (${at(node)})`;
        return isKept(written, node.value) ? null : `the number ${written} cannot be kept exactly (${at(node)})`;
      }
      default:
        return null;
    }
  };
  const first = (nodes: AnyNode[]): string | null => {
    for (const node of nodes) {
      const loss = visit(node);
      if (loss) return loss;
    }
    return null;
  };
  return visit(parse(text, { ranges: true }));
}
