import { Command, CommanderError } from "commander";
import { addCompareCommand } from "./commands/compare.ts";
import { addDemoCommand } from "./commands/demo.ts";
import { addDoctorCommand } from "./commands/doctor.ts";
import { addMigrateCommand } from "./commands/migrate.ts";
import { addReconcileCommand } from "./commands/reconcile.ts";
import { addReplayCommand } from "./commands/replay.ts";
import { addSendsCommand } from "./commands/sends.ts";
import { addSimulateCommand } from "./commands/simulate.ts";
import { addTokenCommand } from "./commands/token.ts";
import { addVerifyCommand } from "./commands/verify.ts";
import { UsageError } from "./errors.ts";
import { runService } from "./main.ts";
import { VERSION } from "./version.ts";

/** Exit codes of every command: 0 fine, 1 found something wrong, 2 used wrongly. */
const USED_WRONGLY = 2;

function createProgram(): Command {
  const program = new Command("holdfast")
    .description("A zero-loss ledger for e-mail events. Settings are environment variables: see .env.example.")
    .version(VERSION)
    .exitOverride()
    .showHelpAfterError("(--help shows what is possible)");
  program
    .command("start")
    .description("start the service and keep it running until SIGTERM or SIGINT")
    .action(async () => runService());
  addMigrateCommand(program);
  addSimulateCommand(program);
  addDemoCommand(program);
  addVerifyCommand(program);
  addReplayCommand(program);
  addReconcileCommand(program);
  addCompareCommand(program);
  addSendsCommand(program);
  addTokenCommand(program);
  addDoctorCommand(program);
  // Only commands made before this inherit nothing: each must be told to throw rather than to exit by itself.
  for (const command of program.commands) command.exitOverride();
  return program;
}

try {
  await createProgram().parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : USED_WRONGLY;
  } else if (error instanceof UsageError) {
    process.stderr.write(`holdfast: ${error.message}\n`);
    process.exitCode = USED_WRONGLY;
  } else {
    throw error;
  }
}
