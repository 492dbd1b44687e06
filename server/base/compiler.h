/* compiler.h -- what this program was built with, as `transposed version` and /stats say it. */
#ifndef TPD_COMPILER_H
#define TPD_COMPILER_H

#ifdef __clang__
#define TPD_COMPILER __VERSION__ /* says Clang by itself */
#else
#define TPD_COMPILER "GCC " __VERSION__
#endif

#endif
