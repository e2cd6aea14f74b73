/** Why a request is not answered, for whoever asked: a status and one readable sentence. */
export class Problem extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = "Problem";
    this.status = status;
  }
}

export const notFound = (what: string): Problem => new Problem(404, what);
export const badRequest = (what: string): Problem => new Problem(400, what);
