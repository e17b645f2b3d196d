import type { Frame } from './cpuProfile.js'

const WIDTH = 1200
const HEIGHT = 17
const LEGEND = 24
/** Narrower frames say nothing. */
const LEAST_PIXELS = 1
const PIXELS_A_LETTER = 6.2

/** Which packages have a colour of their own; all others are grey. */
const COLOURS: [name: string, matches: RegExp, colour: string][] = [
  ['trpc-idempotency', /^trpc-idempotency$/, '#e4572e'],
  ['Prisma', /prisma/, '#76b0e0'],
  ['tRPC', /trpc\/server/, '#f3c45c'],
  ['node-postgres', /^pg/, '#8ccf9a'],
  ['Node.js', /^node$/, '#d8d4cc'],
]

/** Draws stacks as an icicle: what calls is above what it calls, and as wide as the time of both. */
export function flameGraph(root: Frame, title: string): string {
  const boxes: string[] = []
  let deepest = 0
  const draw = (frame: Frame, left: number, depth: number) => {
    const width = (frame.total / root.total) * WIDTH
    if (width < LEAST_PIXELS) return
    deepest = Math.max(deepest, depth)
    boxes.push(box(frame, { left, width, depth, share: frame.total / root.total }))
    let at = left
    for (const called of frame.called) {
      draw(called, at, depth + 1)
      at += (called.total / root.total) * WIDTH
    }
  }
  draw(root, 0, 0)
  const height = LEGEND + (deepest + 1) * HEIGHT
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="monospace" font-size="10">`,
    `<title>${escaped(title)}</title>`,
    '<rect width="100%" height="100%" fill="#ffffff"/>',
    ...COLOURS.map(([name, , colour], at) => legend(name, colour, at)),
    ...boxes,
    '</svg>\n',
  ].join('\n')
}

function box(
  { name, owner }: Frame,
  { left, width, depth, share }: Record<'left' | 'width' | 'depth' | 'share', number>,
): string {
  const top = LEGEND + depth * HEIGHT
  const colour = COLOURS.find(([, matches]) => matches.test(owner))?.[2] ?? '#eeeeee'
  const letters = Math.floor((width - 4) / PIXELS_A_LETTER)
  const text = letters < 3 ? '' : escaped(name.slice(0, letters))
  return [
    `<g><title>${escaped(`${name} (${owner}): ${(100 * share).toFixed(1)} %`)}</title>`,
    `<rect x="${left.toFixed(1)}" y="${top}" width="${width.toFixed(1)}" height="${HEIGHT - 1}" fill="${colour}"/>`,
    text && `<text x="${(left + 2).toFixed(1)}" y="${top + 12}">${text}</text>`,
    '</g>',
  ].join('')
}

function legend(name: string, colour: string, at: number): string {
  const left = 4 + at * 140
  return `<rect x="${left}" y="5" width="12" height="12" fill="${colour}"/><text x="${left + 16}" y="15">${name}</text>`
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
}
