// What the type checker does not see. Text of a model must never become HTML.
import js from "@eslint/js";
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

const html = ["innerHTML", "outerHTML", "insertAdjacentHTML"].map((property) => ({
  property,
  message: "Text of a model must not become HTML: use textContent.",
}));

export default defineConfig(
  { ignores: ["node_modules/"] },
  js.configs.recommended,
  {
    files: ["src/**/*.ts"],
    extends: [tseslint.configs.recommendedTypeChecked, tseslint.configs.stylistic],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      eqeqeq: "error",
      "prefer-const": "error",
      "max-lines": ["error", 700],
      "max-len": ["error", { code: 120, ignoreUrls: true, ignoreTemplateLiterals: true }],
      "no-restricted-properties": ["error", ...html],
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/prefer-for-of": "off",
      "@typescript-eslint/no-non-null-assertion": "off",
    },
  },
  {
    files: ["*.mjs"],
    languageOptions: { globals: { process: "readonly", console: "readonly", URL: "readonly" } },
  },
);
