import { defineConfig, type OxlintConfig } from "oxlint";

/**
 * The lint: whole categories as errors, then what of them is noise here, then what is wanted beyond them, then who may
 * import whom. test/lint.test.ts proves that the import rules bite.
 */

type Rules = NonNullable<OxlintConfig["rules"]>;

/** They meet in PostgreSQL, never in code. */
const STAGES = ["intake", "ledger", "enrichment", "reconcile", "audit", "health", "alerts", "views", "simulator"];

/** The only files that know everybody. */
const COMPOSITION = ["src/main.ts", "src/service.ts", "src/waiting-room.ts", "src/cli.ts", "src/commands/**"];

interface Forbidden {
  regex?: string;
  group?: string[];
  message: string;
  allowTypeImports?: boolean;
}

/** For everyone. The rule takes the last override that matches a file whole, so each override repeats these. */
const FORBIDDEN_EVERYWHERE: Forbidden[] = [
  { regex: "\\.test\\.tsx?$", message: "Nobody imports a test; what two tests share lives in test/." },
  { regex: "^\\.{1,2}/([^/]+/)*[^/.]+$", message: "Write the file's ending." },
];

function mayNotImport(...forbidden: Forbidden[]): Rules {
  return {
    "no-restricted-imports": [
      "error",
      {
        paths: [{ name: "node:process", importNames: ["env"], message: "Settings are read in src/config.ts only." }],
        patterns: [...FORBIDDEN_EVERYWHERE, ...forbidden],
      },
    ],
  };
}

/** `folders` of src/, seen from a file in src/ itself or one or more folders below it. */
function folders(names: readonly string[], message: string): Forbidden {
  return { regex: `^(\\./|(\\.\\./)+)(${names.join("|")})/`, message };
}

const COMPOSERS: Forbidden = {
  regex: "^(\\./|(\\.\\./)+)(main\\.ts|service\\.ts|waiting-room\\.ts|cli\\.ts|commands/)",
  message: "main.ts, cli.ts and commands/ know everybody; nobody knows them.",
};

const OUTSIDE_SRC: Forbidden = {
  regex: "^(\\.\\./)+(test|scripts|bench|torture|web|deploy)/",
  message: "What runs in production imports nothing outside src/.",
};

const SHARED_STAY_BELOW = folders(STAGES, "Shared code knows no stage.");

/**
 * Views read the ledger, and audit holds it against the bytes by the ledger's own parser and rules: with others it would
 * verify itself. Else a stage imports only itself and what is shared.
 */
const READS_LEDGER = new Set(["views", "audit"]);

function stageOverrides(): NonNullable<OxlintConfig["overrides"]> {
  return STAGES.map((stage) => {
    const others = STAGES.filter((other) => other !== stage && !(READS_LEDGER.has(stage) && other === "ledger"));
    const forbidden = [COMPOSERS, folders(others, "Stages never import each other: they meet in PostgreSQL.")];
    return { files: [`src/${stage}/**`], rules: mayNotImport(...forbidden, OUTSIDE_SRC) };
  });
}

/** Beside the sources, tests may use what test/ offers and another stage's code to arrange or to check. */
const TESTS: NonNullable<OxlintConfig["overrides"]>[number] = {
  files: ["**/*.test.ts", "**/*.test.tsx", "test/**"],
  plugins: ["vitest"],
  rules: {
    ...mayNotImport(),
    // A describe is one function, and as long as its tests.
    "max-lines-per-function": "off",
    "node/no-process-env": "off",
    "typescript/unbound-method": "off",
    "vitest/consistent-test-filename": ["error", { pattern: ".*\\.test\\.tsx?$" }],
    "vitest/expect-expect": ["error", { assertFunctionNames: ["expect*", "fc.assert", "assert*"] }],
    "vitest/no-conditional-in-test": "off",
    "vitest/no-identical-title": "error",
    "vitest/no-standalone-expect": "off",
    "vitest/require-to-throw-message": "off",
    // The second argument is the text shown when it fails.
    "vitest/valid-expect": ["error", { maxArgs: 2 }],
    "vitest/valid-title": "off",
  },
};

/** Rules of the categories below that cost more than they find here. */
const NOISE: Rules = {
  "array-callback-return": ["error", { checkForEach: false }],
  "max-classes-per-file": "off",
  "max-depth": ["error", { max: 4 }],
  "no-await-in-loop": "off",
  "no-inline-comments": "off",
  "no-loop-func": "off",
  "no-negated-condition": "off",
  "no-promise-executor-return": "off",
  "no-shadow": ["error", { hoist: "functions" }],
  "no-underscore-dangle": "off",
  // TypeScript narrows loop conditions that closures change; the rule cannot see the closure.
  "no-unmodified-loop-condition": "off",
  "no-warning-comments": ["error", { terms: ["fixme", "xxx", "todo"], location: "start" }],
  "require-await": "off",
  "require-unicode-regexp": "off",
  "sort-vars": "off",
  "import/max-dependencies": ["error", { max: 25 }],
  "import/no-named-as-default": "off",
  "import/no-named-as-default-member": "off",
  "import/no-unassigned-import": ["error", { allow: ["**/*.css", "@fontsource*/**", "@mantine/**/*.css"] }],
  // Fastify waits for its handlers; the rule is for Express.
  "oxc/no-async-endpoint-handlers": "off",
  "promise/always-return": "off",
  "promise/no-promise-in-callback": "off",
  // The compiler's noImplicitReturns says the same and knows exhaustive switches.
  "typescript/consistent-return": "off",
  "typescript/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
  "typescript/no-unsafe-type-assertion": "off",
  "typescript/prefer-readonly-parameter-types": "off",
  // Fastify's handlers and the tests' doubles are async by contract.
  "typescript/require-await": "off",
  "typescript/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
  "typescript/strict-boolean-expressions": "error",
  "typescript/strict-void-return": "off",
  "typescript/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
  "unicorn/consistent-function-scoping": "off",
  "unicorn/escape-case": "off",
  "unicorn/no-array-callback-reference": "off",
  // They copy what was copied on the line before: file lists and rows just read.
  "unicorn/no-array-reverse": "off",
  "unicorn/no-array-sort": "off",
  "unicorn/no-negated-condition": "off",
  "unicorn/no-useless-undefined": "off",
  "unicorn/prefer-event-target": "off",
  "unicorn/prefer-top-level-await": "off",
  "unicorn/prefer-type-error": "off",
};

/** Wanted beyond the categories, from `restriction` and `style`. */
const CHOSEN: Rules = {
  "default-case-last": "error",
  "logical-assignment-operators": "error",
  "max-lines": ["error", { max: 400 }],
  "max-lines-per-function": ["error", { max: 70 }],
  "max-params": ["error", { max: 4 }],
  "no-alert": "error",
  "no-bitwise": "error",
  "no-console": "error",
  "no-empty": "error",
  "no-eq-null": "error",
  "no-implicit-coercion": ["error", { allow: ["*"] }],
  "no-labels": "error",
  "no-multi-assign": "error",
  "no-nested-ternary": "error",
  "no-new-func": "error",
  "no-param-reassign": "error",
  "no-proto": "error",
  "no-return-assign": "error",
  "no-sequences": "error",
  "no-template-curly-in-string": "error",
  "no-var": "error",
  "object-shorthand": "error",
  "operator-assignment": "error",
  "prefer-const": "error",
  "prefer-object-has-own": "error",
  "prefer-rest-params": "error",
  "prefer-template": "error",
  yoda: "error",
  "import/extensions": "off",
  "import/first": "error",
  "import/newline-after-import": "error",
  "import/no-commonjs": "error",
  "import/no-cycle": "error",
  "import/no-default-export": "error",
  "import/no-duplicates": "error",
  "import/no-mutable-exports": "error",
  "node/no-process-env": "error",
  "oxc/no-barrel-file": ["error", { threshold: 0 }],
  "oxc/no-const-enum": "error",
  "typescript/array-type": "error",
  "typescript/consistent-type-definitions": "error",
  "typescript/consistent-type-imports": ["error", { fixStyle: "inline-type-imports" }],
  "typescript/dot-notation": "off",
  "typescript/explicit-module-boundary-types": "error",
  "typescript/no-dynamic-delete": "error",
  "typescript/no-explicit-any": "error",
  "typescript/no-import-type-side-effects": "error",
  "typescript/no-invalid-void-type": "error",
  "typescript/no-namespace": "error",
  "typescript/no-non-null-assertion": "error",
  "typescript/no-require-imports": "error",
  "typescript/non-nullable-type-assertion-style": "off",
  "typescript/prefer-find": "error",
  "typescript/prefer-for-of": "error",
  "typescript/prefer-function-type": "error",
  "typescript/use-unknown-in-catch-callback-variable": "error",
  "unicorn/catch-error-name": ["error", { ignore: ["Error$"] }],
  "unicorn/error-message": "error",
  "unicorn/filename-case": ["error", { case: "kebabCase" }],
  "unicorn/no-abusive-eslint-disable": "error",
  "unicorn/no-array-for-each": "error",
  "unicorn/no-nested-ternary": "off",
  "unicorn/prefer-node-protocol": "error",
  "unicorn/prefer-number-properties": "error",
  "unicorn/throw-new-error": "error",
};

export default defineConfig({
  plugins: ["eslint", "typescript", "unicorn", "oxc", "import", "promise", "node"],
  options: { typeAware: true, reportUnusedDisableDirectives: "error", denyWarnings: true },
  categories: { correctness: "error", suspicious: "error", perf: "error", pedantic: "error" },
  rules: { ...NOISE, ...CHOSEN, ...mayNotImport() },
  // The packages of the Express peer are installed elsewhere, so its types are not known here.
  ignorePatterns: ["web/public/**", "dist/**", "data/**", "artifacts/**", "bench/peers/express/**"],
  overrides: [
    { files: ["src/**"], rules: mayNotImport(SHARED_STAY_BELOW, COMPOSERS, OUTSIDE_SRC) },
    ...stageOverrides(),
    // Whoever puts everything together imports everything.
    {
      files: COMPOSITION,
      rules: { ...mayNotImport(OUTSIDE_SRC), "no-console": "off", "import/max-dependencies": "off" },
    },
    { files: ["src/config.ts"], rules: { "node/no-process-env": "off" } },
    // All bounds in one file is the point of it (promise P8), and most of it is their reasons.
    { files: ["src/limits.ts"], rules: { "max-lines": "off" } },
    {
      files: ["web/**"],
      plugins: ["react", "jsx-a11y"],
      rules: {
        "unicorn/filename-case": ["error", { cases: { kebabCase: true, pascalCase: true, camelCase: true } }],
        "react/react-in-jsx-scope": "off",
        "react/rules-of-hooks": "error",
        ...mayNotImport(
          {
            regex: "^(\\.\\./)+src/views/contract(-[a-z]+)?\\.ts$",
            message: "Of the server, the page may import types only.",
            allowTypeImports: true,
          },
          {
            group: ["../src/**", "../../src/**", "../../../src/**", "../../../../src/**", "!**/src/views/contract*.ts"],
            message: "Of the server, the page may import the types of src/views/contract*.ts only.",
          },
        ),
      },
    },
    TESTS,
    {
      files: ["scripts/**", "bench/**", "torture/**"],
      rules: { "no-console": "off", "node/no-process-env": "off" },
    },
    {
      files: ["**/*.config.ts", "test/global-setup.ts"],
      rules: { "import/no-default-export": "off", "node/no-process-env": "off" },
    },
  ],
});
