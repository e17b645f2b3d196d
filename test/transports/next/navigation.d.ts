export type RedirectType = 'push' | 'replace'
export function notFound(): never
export function redirect(url: string, type?: RedirectType): never
