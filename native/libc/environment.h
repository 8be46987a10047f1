#pragma once

// Hidden: what may be another file's has its address in a table, which a dynamic linker fills in, and here is
// none.
extern __attribute__((visibility("hidden"))) char** environment;
