import { createPrivateKey, createPublicKey, generateKeyPairSync, randomUUID, type KeyObject } from "node:crypto";
import { existsSync } from "node:fs";
import { link, mkdir, readFile, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { publicKeyText } from "../sendgrid/signature.ts";

/** The name of the key's file in the data directory. */
const SIMULATOR_KEY_FILE = "simulator.key";

export interface SimulatorKey {
  privateKey: KeyObject;
  /** As SendGrid shows a verification key: base64 of the DER, in one line. */
  publicKeyText: string;
}

/**
 * The key that signs simulated traffic. It is made at first use, in `dataDir`, readable by its owner only: no key is
 * ever part of the source code, so that nobody else can write to a ledger.
 */
export async function simulatorKey(dataDir: string): Promise<SimulatorKey> {
  const path = join(dataDir, SIMULATOR_KEY_FILE);
  if (!existsSync(path)) await createKey(dataDir, path);
  return readSimulatorKey(path);
}

async function createKey(dataDir: string, path: string): Promise<void> {
  await mkdir(dataDir, { recursive: true });
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, privateKey.export({ format: "pem", type: "pkcs8" }), { flag: "wx", mode: 0o600 });
  try {
    // A link fails when the name is taken: two processes that start at once end up with the same, whole key.
    await link(draft, path);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  } finally {
    await unlink(draft);
  }
}

/**
 * Reads a private key from a PEM file.
 *
 * @throws Error when the file cannot be read or holds no ECDSA key on the curve P-256.
 */
export async function readSimulatorKey(path: string): Promise<SimulatorKey> {
  return parseSimulatorKey(await readFile(path, "utf8"), path);
}

/** Reads a private key from PEM text, whose line breaks may be the two characters \n. `name` is for the message. */
export function parseSimulatorKey(pem: string, name: string): SimulatorKey {
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey(pem.replaceAll("\\n", "\n"));
  } catch (error) {
    throw new Error(`${name} holds no private key in PEM form`, { cause: error });
  }
  if (privateKey.asymmetricKeyType !== "ec" || privateKey.asymmetricKeyDetails?.namedCurve !== "prime256v1") {
    throw new Error(`${name} holds no ECDSA key on the curve P-256`);
  }
  return { privateKey, publicKeyText: publicKeyText(createPublicKey(privateKey)) };
}
