// Next.js ends a request by an error that it knows by its digest.

export function notFound() {
  throw Object.assign(new Error('not found'), { digest: 'NEXT_NOT_FOUND' })
}

export function redirect(url, type = 'replace') {
  throw Object.assign(new Error('redirect'), { digest: `NEXT_REDIRECT;${type};${url};307` })
}
