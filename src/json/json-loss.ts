import { type AnyNode, parse } from '@humanwhocodes/momoa';

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
        if (Number.isInteger(node.value) && !Number.isSafeInteger(node.value)) {
          return `the number ${written} cannot be kept exactly (${at(node)})`;
        }
        return null;
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
