import { stat } from "node:fs/promises";
import { join, sep } from "node:path";
import helmet from "@fastify/helmet";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ClientError } from "../errors.ts";

/** Headers that keep a page of ours from running or showing anything that is not ours. For all answers of the scope. */
export async function addSecurityHeaders(app: FastifyInstance, isHttps: boolean): Promise<void> {
  await app.register(helmet, {
    contentSecurityPolicy: {
      // The defaults would upgrade every request to https, where a plain http installation has nothing.
      useDefaults: false,
      directives: {
        defaultSrc: ["'self'"],
        scriptSrc: ["'self'"],
        // The component kit sets inline styles.
        styleSrc: ["'self'", "'unsafe-inline'"],
        imgSrc: ["'self'", "data:"],
        fontSrc: ["'self'"],
        connectSrc: ["'self'"],
        objectSrc: ["'none'"],
        baseUri: ["'self'"],
        formAction: ["'self'"],
        frameAncestors: ["'none'"],
      },
    },
    strictTransportSecurity: isHttps,
    referrerPolicy: { policy: "no-referrer" },
  });
}

/** What never is a path of the page. */
const NOT_PAGES = /^\/(api|webhooks)(\/|$)/;
/** Vite writes the hash of a file's content into its name, so such a file never changes. */
const HASHED = /^assets\/.+-[\w-]{8,}\.\w+$/;
const YEAR_SECONDS = 31_536_000;

/** Adds the built page: its files, and `index.html` for every path that the page itself makes sense of. */
export async function addSite(app: FastifyInstance, webRoot: string): Promise<void> {
  await app.register(fastifyStatic, { root: webRoot, serve: false, cacheControl: false, suppressWarning: true });
  app.get("/*", { schema: { hide: true } }, async (request, reply) => {
    const path = decodePath(request);
    if (NOT_PAGES.test(path)) throw new ClientError("not_found");
    const file = path.slice(1);
    if (file !== "" && (await isFile(webRoot, file))) return sendFile(reply, file);
    if (file !== "" && !acceptsHtml(request)) throw new ClientError("not_found");
    if (await isFile(webRoot, "index.html")) return sendFile(reply, "index.html");
    throw new ClientError("not_found", "The page is not built. Run npm run build; the API works without it.");
  });
}

function decodePath(request: FastifyRequest): string {
  const { "*": path = "" } = request.params as { "*"?: string };
  return `/${path}`;
}

async function isFile(webRoot: string, file: string): Promise<boolean> {
  const path = join(webRoot, file);
  if (file.includes("\0") || !path.startsWith(webRoot + sep)) return false;
  // What cannot be looked at (too long a name, no such folder) is not a file of the page.
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

function sendFile(reply: FastifyReply, file: string): FastifyReply {
  void reply.header("cache-control", HASHED.test(file) ? `public, max-age=${YEAR_SECONDS}, immutable` : "no-cache");
  return reply.sendFile(file);
}

/** A browser that opens a page says so; a program that asks for a file that is not there gets a 404. */
function acceptsHtml(request: FastifyRequest): boolean {
  return request.headers.accept?.includes("text/html") === true;
}
