import type { SimulatedDisk } from './disk.ts';

/** Path and content of all files below a directory, in the order of their names. */
export function filesBelow(disk: SimulatedDisk, directory: string): [path: string, text: string][] {
  const names = disk.readdir(directory).sort();
  return names.flatMap((name): [string, string][] => {
    const path = `${directory}/${name}`;
    return disk.lstat(path)?.type === 'file' ? [[path, disk.readFile(path).toString()]] : filesBelow(disk, path);
  });
}
