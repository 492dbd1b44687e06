/* every_strategy.h -- the strategies' headers, one line each (no guard: see kernel.h for how often it is included). */
#include "kernels/strategies/strategy_direct.h"
#include "kernels/strategies/strategy_naive.h"
#include "kernels/strategies/strategy_padded.h"
#include "kernels/strategies/strategy_rotated.h"
#include "kernels/strategies/strategy_shifted.h"
#include "kernels/strategies/strategy_swapped.h"
#include "kernels/strategies/strategy_swizzled.h"
#include "kernels/strategies/strategy_vector.h"
