// The yardstick of imports.mjs: a module without code.
