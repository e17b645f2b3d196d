import type { Section } from '../section.js'
export async function seal(): Promise<Section> { return { title: 'x', text: '', figures: {} } }
