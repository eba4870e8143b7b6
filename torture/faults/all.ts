import type { Fault } from "../fault.ts";
import { apiFaults } from "./api.ts";
import { clockJump } from "./clock-jump.ts";
import { deadlockStorm } from "./deadlock-storm.ts";
import { diskFull } from "./disk-full.ts";
import { drain } from "./drain.ts";
import { fsyncEio } from "./fsync-eio.ts";
import { killMidBatch } from "./kill-mid-batch.ts";
import { killService } from "./kill-service.ts";
import { pauseService } from "./pause-service.ts";
import { poisonReceipt } from "./poison-receipt.ts";
import { killBackend, killPostmaster, stopImmediate } from "./postgres-processes.ts";
import { powerCut } from "./power-cut.ts";
import { cutAfterCommit, postgresAway, proxyDelay, proxyHalfOpen, proxyReset } from "./proxies.ts";
import { redeliveryStorm } from "./redelivery-storm.ts";

/** Every fault there is, in the order of --help. */
export const FAULTS: readonly Fault[] = [
  killService,
  killPostmaster,
  killBackend,
  stopImmediate,
  pauseService,
  drain,
  proxyDelay,
  proxyReset,
  proxyHalfOpen,
  postgresAway,
  cutAfterCommit,
  powerCut,
  diskFull,
  fsyncEio,
  deadlockStorm,
  redeliveryStorm,
  killMidBatch,
  poisonReceipt,
  clockJump,
  ...apiFaults,
];
