// One program, many modes: the first argument says which.
import * as fs from 'fs';

const words: string[] = process.argv.slice(3);
const modes: Record<string, () => void> = {
  args: () => words.forEach((word) => console.log(`[${word}]`)),
  stdin: () => {
    const numbers = fs.readFileSync(0, 'utf8').split('\n').filter(Boolean).map(Number);
    console.log(`${numbers.length} lines, sum ${numbers.reduce((a, b) => a + b, 0)}`);
  },
  files: () => {
    fs.writeFileSync('made.txt', 'one\n');
    fs.appendFileSync('made.txt', 'two\n');
    process.stdout.write(fs.readFileSync('made.txt', 'utf8'));
  },
  exit: () => process.exit(7),
  uncaught: () => { throw new Error('deliberate'); },
  forever: () => { for (;;); },
  memory: () => {
    const kept: number[][] = [];
    for (;;) kept.push(new Array<number>(1 << 16).fill(0).map((_, i) => i + Math.random()));
  },
  unicode: () => console.log('Grüße, 世界 🌍', words[0], [...words[0]].length),
  big: () => {
    for (let i = 0; i < 40000; i++) console.log('x'.repeat(63));
  },
};
modes[process.argv[2]]();
